/* The manifest: one line for everything in the tree. */
#include "launcher.h"

#include <stdlib.h>
#include <string.h>

int manifest_is_ours(const char *text, size_t size) {
    struct blake2b state;
    uint8_t digest[32];
    if (size != seal.manifest_size) return 0;
    blake2b_begin(&state);
    blake2b_add(&state, text, size);
    blake2b_end(&state, digest);
    return memcmp(digest, seal.digest, sizeof digest) == 0;
}

/* Takes one line off a terminated text that manifest_is_ours; writes into it. 0 at the end. */
int next_entry(char **at, struct entry *entry) {
    char *line = *at, *end = strchr(line, '\n');
    if (!end) return 0;
    *end = '\0';
    *at = end + 1;
    memset(entry, 0, sizeof *entry);
    entry->kind = line[0];
    line += 2;
    if (entry->kind == 'f') {
        entry->mode = (mode_t)strtoul(line, &line, 8);
        entry->size = strtoull(line, &line, 10);
        entry->digest = line + 1;
        line += 1 + 64 + 1;
    } else if (entry->kind == 'l') {
        entry->target = line;
        line = strchr(line, '\t');
        *line++ = '\0';
    }
    entry->path = line;
    return 1;
}
