/* Words to the person, one line at a time. */
#define _GNU_SOURCE
#include "launcher.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void line(const char *format, va_list arguments) {
    fputs("flower: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

void say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    line(format, arguments);
    va_end(arguments);
}

void die(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    line(format, arguments);
    va_end(arguments);
    exit(1);
}

char *join(const char *format, ...) {
    char *out;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&out, format, arguments) < 0) die("out of memory");
    va_end(arguments);
    return out;
}
