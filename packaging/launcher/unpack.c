/* Unpacking the tree: under a lock, beside its place, checked, then renamed. */
#define _GNU_SOURCE
#include "launcher.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static void damaged(void) __attribute__((noreturn));
static const char *partial; /* removed before giving up */

static void damaged(void) {
    if (partial) remove_tree(partial);
    die("this file is damaged: its contents do not match their checksums; download it again");
}

static int put(int fd, const char *data, size_t size) {
    while (size > 0) {
        ssize_t written = write(fd, data, size);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return -1;
        data += written;
        size -= (size_t)written;
    }
    return 0;
}

static int finish(int fd, mode_t mode) {
    struct timespec times[2] = {{TREE_TIME, 0}, {TREE_TIME, 0}};
    int failed = fchmod(fd, mode) != 0 || futimens(fd, times) != 0;
    /* A full quota may be told at close only. */
    return close(fd) != 0 || failed ? -1 : 0;
}

static int unpack_file(struct frame *frame, int tree, const struct entry *entry) {
    struct blake2b state;
    int fd = openat(tree, entry->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return -1;
    blake2b_begin(&state);
    for (uint64_t left = entry->size; left > 0;) {
        size_t part;
        const char *data = frame_take(frame, (size_t)left, &part);
        if (!data) damaged();
        blake2b_add(&state, data, part);
        if (put(fd, data, part) != 0) return close(fd), -1;
        left -= part;
    }
    if (!digest_matches(&state, entry->digest)) damaged();
    return finish(fd, entry->mode);
}

static int unpack_manifest(int tree, const char *text) {
    int fd = openat(tree, MANIFEST, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return -1;
    if (put(fd, text, seal.manifest_size) != 0) return close(fd), -1;
    return finish(fd, 0644);
}

/* The manifest at the head of the frame, as a terminated text; NULL if there is no memory for it. */
static char *take_manifest(struct frame *frame) {
    char *text = calloc(1, seal.manifest_size + 1);
    for (size_t got = 0, part; text && got < seal.manifest_size; got += part) {
        const char *data = frame_take(frame, seal.manifest_size - got, &part);
        if (!data) damaged();
        memcpy(text + got, data, part);
    }
    if (text && !manifest_is_ours(text, seal.manifest_size)) damaged();
    return text;
}

static int unpack_frame(struct frame *frame, const char *path) {
    char *text = take_manifest(frame), *at = text;
    int tree = text ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    int failed = tree < 0 || unpack_manifest(tree, text) != 0;
    struct entry entry;
    while (!failed && next_entry(&at, &entry)) {
        if (entry.kind == 'd')
            failed = mkdirat(tree, entry.path, 0755);
        else if (entry.kind == 'l')
            failed = symlinkat(entry.target, tree, entry.path);
        else
            failed = unpack_file(frame, tree, &entry);
    }
    int code = errno;
    if (tree >= 0) close(tree);
    free(text);
    errno = code;
    return failed ? -1 : 0;
}

static int unpack_into(int self, const char *path) {
    struct frame *frame = lseek(self, (off_t)seal.offset, SEEK_SET) < 0 ? NULL : frame_open(self, seal.frame_size);
    if (!frame) return -1;
    int failed = unpack_frame(frame, path), code = errno;
    frame_close(frame);
    errno = code;
    return failed;
}

/* What a killed start left: nobody works on it while we hold the lock. */
static void remove_leftovers(const char *place) {
    DIR *directory = opendir(place);
    char *prefix = join("%s.", seal.name);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 || strstr(entry->d_name, ".lock")) continue;
        char *path = join("%s/%s", place, entry->d_name);
        remove_tree(path);
        free(path);
    }
    if (directory) closedir(directory);
    free(prefix);
}

static int lock(const struct place *place) {
    char *path = join("%s/%s.lock", place->path, seal.name);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    free(path);
    if (fd < 0) return -1;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return fd; /* no locks here: rename decides */
    say("another start is unpacking into %s; waiting for it", place->path);
    while (flock(fd, LOCK_EX) != 0 && errno == EINTR) continue;
    return fd;
}

static int unpack_locked(int self, const char *tree, const char *place) {
    char *part = join("%s.part-%d", tree, (int)getpid());
    remove_leftovers(place);
    partial = part;
    int failed = mkdir(part, 0755) != 0 || chmod(part, 0755) != 0 || unpack_into(self, part) != 0;
    /* No fsync: after a power cut a file is at most too short, and the next start sees that. */
    if (!failed && rename(part, tree) != 0) failed = look_at(tree) != WHOLE;
    int code = errno;
    remove_tree(part);
    partial = NULL;
    free(part);
    errno = code;
    return failed ? -1 : 0;
}

/* Put the tree into `place`; 0 and `place->wrong` if it cannot be put there. */
int unpack(int self, struct place *place) {
    int held = lock(place);
    if (held < 0) {
        place->wrong = join("%s", strerror(errno));
        return 0;
    }
    char *tree = join("%s/%s", place->path, seal.name);
    enum state state = look_at(tree);
    if (state == DAMAGED) {
        say("the unpacked program in %s was damaged; unpacking it again", tree);
        char *aside = join("%s.bad-%d", tree, (int)getpid());
        if (rename(tree, aside) != 0) place->wrong = join("%s is damaged: %s", tree, strerror(errno));
        free(aside);
    } else if (state == ABSENT && isatty(STDERR_FILENO)) {
        say("unpacking version %s into %s (once)", seal.version, tree);
    }
    if (!place->wrong && state != WHOLE && unpack_locked(self, tree, place->path) != 0)
        place->wrong = join("%s", strerror(errno));
    free(tree);
    close(held);
    return place->wrong == NULL;
}
