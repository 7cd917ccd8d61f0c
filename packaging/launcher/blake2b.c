/* BLAKE2b with a digest of 32 bytes (RFC 7693): as strong as SHA-256 and several times as fast without special
 * instructions. The person waits while half a gigabyte goes through it. */
#include "launcher.h"

#include <string.h>

static const uint64_t IV[8] = {
    0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
    0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
};
static const uint8_t SIGMA[12][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
};

#define ROTATE(x, n) (((x) >> (n)) | ((x) << (64 - (n))))
#define MIX(a, b, c, d, x, y)          \
    do {                               \
        a += b + (x); d = ROTATE(d ^ a, 32); \
        c += d; b = ROTATE(b ^ c, 24); \
        a += b + (y); d = ROTATE(d ^ a, 16); \
        c += d; b = ROTATE(b ^ c, 63); \
    } while (0)

static void compress(struct blake2b *state, const uint8_t *block, int last) {
    uint64_t v[16], m[16];
    memcpy(m, block, sizeof m); /* every machine flower is built for is little-endian */
    for (int i = 0; i < 8; i++) {
        v[i] = state->h[i];
        v[i + 8] = IV[i];
    }
    v[12] ^= state->counted;
    if (last) v[14] = ~v[14];
#pragma GCC unroll 12
    for (int round = 0; round < 12; round++) {
        const uint8_t *s = SIGMA[round];
        MIX(v[0], v[4], v[8], v[12], m[s[0]], m[s[1]]);
        MIX(v[1], v[5], v[9], v[13], m[s[2]], m[s[3]]);
        MIX(v[2], v[6], v[10], v[14], m[s[4]], m[s[5]]);
        MIX(v[3], v[7], v[11], v[15], m[s[6]], m[s[7]]);
        MIX(v[0], v[5], v[10], v[15], m[s[8]], m[s[9]]);
        MIX(v[1], v[6], v[11], v[12], m[s[10]], m[s[11]]);
        MIX(v[2], v[7], v[8], v[13], m[s[12]], m[s[13]]);
        MIX(v[3], v[4], v[9], v[14], m[s[14]], m[s[15]]);
    }
    for (int i = 0; i < 8; i++) state->h[i] ^= v[i] ^ v[i + 8];
}

void blake2b_begin(struct blake2b *state) {
    memcpy(state->h, IV, sizeof IV);
    state->h[0] ^= 0x01010000 ^ 32;
    state->counted = 0;
    state->held = 0;
}

void blake2b_add(struct blake2b *state, const void *data, size_t size) {
    const uint8_t *at = data;
    while (size > 0) {
        if (state->held == sizeof state->block) { /* the last block is kept back: it is marked as such */
            state->counted += sizeof state->block;
            compress(state, state->block, 0);
            state->held = 0;
        }
        size_t part = sizeof state->block - state->held;
        if (part > size) part = size;
        memcpy(state->block + state->held, at, part);
        state->held += part;
        at += part;
        size -= part;
    }
}

void blake2b_end(struct blake2b *state, uint8_t digest[32]) {
    state->counted += state->held;
    memset(state->block + state->held, 0, sizeof state->block - state->held);
    compress(state, state->block, 1);
    memcpy(digest, state->h, 32);
}

int digest_matches(struct blake2b *state, const char *hex) {
    static const char digits[] = "0123456789abcdef";
    uint8_t digest[32];
    blake2b_end(state, digest);
    for (int i = 0; i < 32; i++)
        if (hex[2 * i] != digits[digest[i] >> 4] || hex[2 * i + 1] != digits[digest[i] & 15]) return 0;
    return 1;
}
