/* Finds the unpacked tree, or unpacks it, and becomes the program in it: the pid stays the one the person sees. */
#define _GNU_SOURCE
#include "launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __APPLE__
#include <mach-o/dyld.h>
#else
#include <sys/auxv.h>
#endif

/* Written over after the link; volatile, or the compiler would use the zeros it sees here. */
__attribute__((used)) const volatile struct seal placeholder = {.mark = "flower-seal-v1"};
struct seal seal;

enum { MOST_PLACES = 8 };

static int open_self(void) {
#ifdef __APPLE__
    static char path[4096];
    uint32_t room = sizeof path;
    const char *name = _NSGetExecutablePath(path, &room) == 0 ? path : "";
    int fd = open(name, O_RDONLY | O_CLOEXEC);
#else
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    const char *name = (const char *)getauxval(AT_EXECFN); /* where there is no /proc */
    if (fd < 0 && name) fd = open(name, O_RDONLY | O_CLOEXEC);
#endif
    if (fd < 0) die("cannot read its own file %s: %s", name ? name : "", strerror(errno));
    return fd;
}

static void check_length(int self) {
    struct stat now;
    uint64_t whole = seal.offset + seal.frame_size;
    if (seal.offset == 0) die("this launcher has no program behind it");
    if (fstat(self, &now) != 0) die("cannot read its own file: %s", strerror(errno));
    if ((uint64_t)now.st_size < whole)
        die("this file is incomplete: %llu of %llu bytes; download it again", (unsigned long long)now.st_size,
            (unsigned long long)whole);
}

static void become(struct place *place, char **argv) {
    char *program = join("%s/%s/flower", place->path, seal.name);
    argv[0] = program;
    execve(program, argv, environment_for(program));
    if (errno == ENOENT) die("%s needs a system with glibc; there is none here", program);
    place->wrong = join("%s", errno == EACCES ? "programs may not run there" : strerror(errno));
}

static void give_up(const struct place *places, size_t count) __attribute__((noreturn));
static void give_up(const struct place *places, size_t count) {
    char *reasons = join("%s", "");
    for (size_t i = 0; i < count; i++)
        reasons = join("%s%s%s: %s", reasons, i ? "; " : "", places[i].path, places[i].wrong);
    die("cannot be unpacked (%s); set FLOWER_CACHE to a directory of yours where programs may run", reasons);
}

int main(int argc, char **argv) {
    struct place places[MOST_PLACES];
    (void)argc;
    memcpy(&seal, (const void *)&placeholder, sizeof seal);
    const char *chosen = getenv("FLOWER_CACHE");
    int is_chosen = chosen && *chosen;
    size_t count = find_places(places, MOST_PLACES);
    for (size_t i = 0; i < count; i++) {
        char *tree = join("%s/%s", places[i].path, seal.name);
        /* The usual start ends in the next line. */
        if (trusted(&places[i], is_chosen) && look_at(tree) == WHOLE) become(&places[i], argv);
        free(tree);
    }
    int self = open_self();
    check_length(self);
    for (size_t i = 0; i < count; i++)
        if (!places[i].wrong && make_place(&places[i], is_chosen) && unpack(self, &places[i]))
            become(&places[i], argv);
    give_up(places, count);
}
