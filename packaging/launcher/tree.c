/* Is what lies in the cache what was put there? */
#define _GNU_SOURCE
#include "launcher.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int entry_is_whole(int tree, const struct entry *entry);
static int content_is_whole(int tree, const struct entry *entry);
static char *read_manifest(int tree);

/* Looks at the size and the time of every file: some microseconds each, and it finds what was truncated (a power cut
 * soon after unpacking), written to, or deleted. Contents are read again only where the time differs: a copied
 * cache is not a damaged one. */
enum state look_at(const char *path) {
    int tree = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (tree < 0) return ABSENT;
    enum state state = DAMAGED;
    char *text = read_manifest(tree), *at = text;
    struct entry entry;
    if (text) {
        state = WHOLE;
        while (state == WHOLE && next_entry(&at, &entry))
            if (!entry_is_whole(tree, &entry)) state = DAMAGED;
    }
    free(text);
    close(tree);
    return state;
}

static char *read_manifest(int tree) {
    int fd = openat(tree, MANIFEST, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return NULL;
    char *text = calloc(1, seal.manifest_size + 2);
    ssize_t got = text ? read(fd, text, seal.manifest_size + 1) : -1;
    close(fd);
    if (got >= 0 && manifest_is_ours(text, (size_t)got)) return text;
    free(text);
    return NULL;
}

static int entry_is_whole(int tree, const struct entry *entry) {
    struct stat now;
    if (fstatat(tree, entry->path, &now, AT_SYMLINK_NOFOLLOW) != 0) return 0;
    if (entry->kind == 'd') return S_ISDIR(now.st_mode);
    if (entry->kind == 'l') {
        char target[4096];
        ssize_t length = readlinkat(tree, entry->path, target, sizeof target);
        return length == (ssize_t)strlen(entry->target) && memcmp(target, entry->target, (size_t)length) == 0;
    }
    if (!S_ISREG(now.st_mode) || (uint64_t)now.st_size != entry->size) return 0;
    if ((now.st_mode & 0111) != (entry->mode & 0111)) return 0;
    return now.st_mtime == TREE_TIME || content_is_whole(tree, entry);
}

static int content_is_whole(int tree, const struct entry *entry) {
    static char block[1 << 16];
    struct blake2b state;
    ssize_t got;
    int fd = openat(tree, entry->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return 0;
    blake2b_begin(&state);
    while ((got = read(fd, block, sizeof block)) > 0) blake2b_add(&state, block, (size_t)got);
    close(fd);
    if (got < 0 || !digest_matches(&state, entry->digest)) return 0;
    struct timespec times[2] = {{TREE_TIME, 0}, {TREE_TIME, 0}};
    (void)!utimensat(tree, entry->path, times, 0); /* read-only: it is read again at the next start */
    return 1;
}

static int remove_one(const char *path, const struct stat *now, int kind, struct FTW *walk) {
    (void)now, (void)kind, (void)walk;
    remove(path); /* what cannot be removed is in nobody's way */
    return 0;
}

void remove_tree(const char *path) { nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS); }
