/* The launcher of the one-file flower: unpacks the tree behind it once, then becomes the program inside. */
#ifndef LAUNCHER_H
#define LAUNCHER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What build time writes over the placeholder: everything the launcher knows about the frame behind it. */
struct seal {
    char mark[16];
    uint64_t offset;         /* of the frame in this file */
    uint64_t frame_size;     /* compressed */
    uint64_t manifest_size;  /* unpacked; it comes first in the frame */
    uint64_t tree_size;      /* unpacked, all files together */
    uint8_t digest[32];      /* BLAKE2b of the manifest, which holds that of every file */
    char name[32];           /* of the unpacked directory: the first letters of the digest */
    char version[32];
};
extern const volatile struct seal placeholder;
extern struct seal seal; /* a copy, taken at the start */

/* Every file of an unpacked tree carries this time: a file that was written to later has another. */
#define TREE_TIME 1000000000
#define MANIFEST ".manifest"

/* say.c */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
char *join(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* places.c */
struct place {
    char *path;
    int shared;  /* below a directory where others can write: only what is ours alone is trusted */
    char *wrong; /* why it cannot be used; NULL while nothing is known against it */
};
size_t find_places(struct place *places, size_t room);
int make_place(struct place *place, int chosen);
int trusted(const struct place *place, int chosen);

/* manifest.c */
struct entry {
    char kind; /* 'f', 'd', 'l' */
    mode_t mode;
    uint64_t size;
    const char *digest; /* 64 hex digits, not terminated */
    const char *target; /* of a link */
    const char *path;   /* relative, never leads out of the tree */
};
int next_entry(char **at, struct entry *entry);
int manifest_is_ours(const char *text, size_t size);

/* environment.c */
char **environment_for(const char *program);

/* tree.c */
enum state { ABSENT, WHOLE, DAMAGED };
enum state look_at(const char *tree);
void remove_tree(const char *path);

/* frame.c */
struct frame;
struct frame *frame_open(int fd, uint64_t size);
const char *frame_take(struct frame *frame, size_t most, size_t *size);
void frame_close(struct frame *frame);

/* unpack.c */
int unpack(int self, struct place *place);

/* blake2b.c */
struct blake2b {
    uint64_t h[8], counted;
    uint8_t block[128];
    size_t held;
};
void blake2b_begin(struct blake2b *state);
void blake2b_add(struct blake2b *state, const void *data, size_t size);
void blake2b_end(struct blake2b *state, uint8_t digest[32]);
int digest_matches(struct blake2b *state, const char *hex);

#endif
