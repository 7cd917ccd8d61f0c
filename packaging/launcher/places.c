/* Where the tree may be unpacked, the best place first. */
#define _GNU_SOURCE
#include "launcher.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#ifndef ST_NOEXEC
#define ST_NOEXEC 0 /* macOS tells by the failing exec */
#endif

static const uint64_t ROOM_TO_SPARE = 16 << 20;

static const char *given(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

size_t find_places(struct place *places, size_t room) {
    size_t count = 0;
    const char *chosen = given("FLOWER_CACHE"), *cache = given("XDG_CACHE_HOME"), *home = given("HOME");
#define ADD(is_shared, ...)                                                                  \
    do {                                                                                     \
        if (count < room) places[count++] = (struct place){join(__VA_ARGS__), is_shared, NULL}; \
    } while (0)
    if (chosen) {
        ADD(0, "%s", chosen);
        return count;
    }
    if (cache && *cache == '/')
        ADD(0, "%s/flower", cache);
    else if (home && *home == '/')
        ADD(0, "%s/.cache/flower", home);
    const char *shared[] = {"/var/tmp", given("TMPDIR"), "/tmp"};
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
        if (shared[i] && *shared[i] == '/') ADD(1, "%s/flower-%u", shared[i], (unsigned)geteuid());
#undef ADD
    return count;
}

/* Whether what lies there may be run without reading all of it again: nobody but us or root could put it there. A
 * place the person chose is the person's business. */
int trusted(const struct place *place, int chosen) {
    struct stat now;
    if (lstat(place->path, &now) != 0) return 0;
    if (chosen) return 1;
    if (now.st_uid != geteuid() && now.st_uid != 0) return 0;
    if (place->shared && (!S_ISDIR(now.st_mode) || now.st_uid != geteuid())) return 0;
    return (now.st_mode & (S_IWGRP | S_IWOTH)) == 0 || !place->shared;
}

static int make_directories(char *path) {
    struct stat now;
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int failed = mkdir(path, 0700) != 0 && errno != EEXIST && stat(path, &now) != 0;
        *slash = '/';
        if (failed) return -1;
    }
    if (mkdir(path, 0700) == 0) return 0;
    int code = errno;
    if (code == EEXIST && stat(path, &now) == 0) return S_ISDIR(now.st_mode) ? 0 : (errno = ENOTDIR, -1);
    errno = code;
    return -1;
}

/* Make the directory and see whether a program can be put there and run from there; 0 and `wrong` if not. */
int make_place(struct place *place, int chosen) {
    struct statvfs disk;
    if (make_directories(place->path) != 0)
        place->wrong = join("%s", strerror(errno));
    else if (!trusted(place, chosen))
        place->wrong = join("belongs to somebody else");
    else if (statvfs(place->path, &disk) != 0 || access(place->path, W_OK | X_OK) != 0)
        place->wrong = join("%s", strerror(errno));
    else if (disk.f_flag & ST_NOEXEC)
        place->wrong = join("mounted noexec");
    else if ((uint64_t)disk.f_bavail * disk.f_frsize < seal.tree_size + ROOM_TO_SPARE)
        place->wrong = join("%s (%llu MB needed)", strerror(ENOSPC),
                            (unsigned long long)(seal.tree_size + ROOM_TO_SPARE) / 1000000);
    return place->wrong == NULL;
}
