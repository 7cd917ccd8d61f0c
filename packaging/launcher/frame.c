/* The compressed frame as a stream of bytes. A thread of its own decompresses ahead of whoever takes them: checking
 * and writing what came takes half as long again as decompressing it. */
#define _GNU_SOURCE
#include "launcher.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

enum { BLOCKS = 8, BLOCK = 1 << 18 };

struct block {
    size_t size; /* 0 at the end of the frame and where it is damaged */
    char data[BLOCK];
};

struct frame {
    int fd;
    uint64_t left; /* of the frame, not read yet */
    ZSTD_DStream *stream;
    ZSTD_inBuffer in;
    char packed[1 << 17];

    pthread_t thread;
    int threaded, stopped;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t made, taken; /* blocks so far; at most BLOCKS apart */
    size_t at;          /* in the block being taken */
    struct block blocks[BLOCKS];
};

static int refill(struct frame *frame) {
    size_t part = frame->left < sizeof frame->packed ? (size_t)frame->left : sizeof frame->packed;
    ssize_t got;
    do got = read(frame->fd, frame->packed, part);
    while (got < 0 && errno == EINTR);
    if (got <= 0) return -1;
    frame->left -= (size_t)got;
    frame->in = (ZSTD_inBuffer){frame->packed, (size_t)got, 0};
    return 0;
}

static void fill(struct frame *frame, struct block *block) {
    ZSTD_outBuffer out = {block->data, sizeof block->data, 0};
    while (out.pos < out.size) {
        if (frame->in.pos == frame->in.size && frame->left == 0) break;
        if (frame->in.pos == frame->in.size && refill(frame) != 0) break;
        if (ZSTD_isError(ZSTD_decompressStream(frame->stream, &out, &frame->in))) {
            out.pos = 0;
            break;
        }
    }
    block->size = out.pos;
}

static void *fill_ahead(void *given) {
    struct frame *frame = given;
    for (;;) {
        pthread_mutex_lock(&frame->lock);
        while (frame->made - frame->taken == BLOCKS && !frame->stopped)
            pthread_cond_wait(&frame->changed, &frame->lock);
        int stopped = frame->stopped;
        struct block *block = &frame->blocks[frame->made % BLOCKS];
        pthread_mutex_unlock(&frame->lock);
        if (stopped) return NULL;
        fill(frame, block);
        size_t size = block->size;
        pthread_mutex_lock(&frame->lock);
        frame->made++;
        pthread_cond_broadcast(&frame->changed);
        pthread_mutex_unlock(&frame->lock);
        if (size == 0) return NULL;
    }
}

/* The frame that begins where `fd` stands; NULL, with errno, if there is no memory for it. */
struct frame *frame_open(int fd, uint64_t size) {
    struct frame *frame = calloc(1, sizeof *frame);
    if (!frame) return NULL;
    frame->fd = fd;
    frame->left = size;
    frame->stream = ZSTD_createDStream();
    if (!frame->stream) {
        free(frame);
        errno = ENOMEM;
        return NULL;
    }
    pthread_mutex_init(&frame->lock, NULL);
    pthread_cond_init(&frame->changed, NULL);
    /* Where no thread may be started it is done in turns. */
    frame->threaded = pthread_create(&frame->thread, NULL, fill_ahead, frame) == 0;
    return frame;
}

static struct block *block_to_take(struct frame *frame) {
    if (!frame->threaded && frame->made == frame->taken) fill(frame, &frame->blocks[frame->made++ % BLOCKS]);
    pthread_mutex_lock(&frame->lock);
    while (frame->made == frame->taken) pthread_cond_wait(&frame->changed, &frame->lock);
    pthread_mutex_unlock(&frame->lock);
    return &frame->blocks[frame->taken % BLOCKS];
}

static void give_back(struct frame *frame) {
    frame->at = 0;
    pthread_mutex_lock(&frame->lock);
    frame->taken++;
    pthread_cond_broadcast(&frame->changed);
    pthread_mutex_unlock(&frame->lock);
}

/* The next bytes, at most `most` of them, where they lie until the next call; NULL if the frame is damaged. */
const char *frame_take(struct frame *frame, size_t most, size_t *size) {
    struct block *block = block_to_take(frame);
    if (block->size > 0 && frame->at == block->size) {
        give_back(frame);
        block = block_to_take(frame);
    }
    if (block->size == 0) return NULL;
    *size = block->size - frame->at < most ? block->size - frame->at : most;
    frame->at += *size;
    return block->data + frame->at - *size;
}

void frame_close(struct frame *frame) {
    if (frame->threaded) {
        pthread_mutex_lock(&frame->lock);
        frame->stopped = 1;
        pthread_cond_broadcast(&frame->changed);
        pthread_mutex_unlock(&frame->lock);
        pthread_join(frame->thread, NULL);
    }
    pthread_cond_destroy(&frame->changed);
    pthread_mutex_destroy(&frame->lock);
    ZSTD_freeDStream(frame->stream);
    free(frame);
}
