/* The environment the program in the tree is started with. */
#define _GNU_SOURCE
#include "launcher.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ; /* not declared everywhere */

#ifdef __linux__

/* PyInstaller's boot loader sets these, then starts itself again so that the dynamic linker sees the path. It does not
 * where it finds them set; -1 is what it calls a process that has been started again. flower gives its children the
 * person's environment back. */
static const char *const OURS[] = {"_PYI_ARCHIVE_FILE=", "_PYI_PARENT_PROCESS_LEVEL=", "_PYI_APPLICATION_HOME_DIR=",
                                   "_PYI_SPLASH_IPC=", "_PYI_LINUX_PROCESS_NAME=", "LD_LIBRARY_PATH=",
                                   "LD_LIBRARY_PATH_ORIG="};

static int is_ours(const char *variable) {
    for (size_t i = 0; i < sizeof OURS / sizeof *OURS; i++)
        if (strncmp(variable, OURS[i], strlen(OURS[i])) == 0) return 1;
    return 0;
}

/* A copy for execve. Where the program's real path cannot be told the boot loader is left to itself. */
char **environment_for(const char *program) {
    char *real = realpath(program, NULL);
    char *resets = getenv("PYINSTALLER_RESET_ENVIRONMENT");
    size_t count = 0, kept = 0;
    while (environ[count]) count++;
    char **variables = calloc(count + 5, sizeof *variables);
    if (!real || resets || !variables) return environ;
    for (size_t i = 0; i < count; i++)
        if (!is_ours(environ[i])) variables[kept++] = environ[i];
    const char *before = getenv("LD_LIBRARY_PATH");
    int directory = (int)(strrchr(real, '/') - real);
    variables[kept++] = join("_PYI_ARCHIVE_FILE=%s", real);
    variables[kept++] = join("_PYI_PARENT_PROCESS_LEVEL=-1");
    /* An empty path would be searched as the working directory. */
    variables[kept++] = before && *before ? join("LD_LIBRARY_PATH=%.*s/_internal:%s", directory, real, before)
                                          : join("LD_LIBRARY_PATH=%.*s/_internal", directory, real);
    if (before) variables[kept++] = join("LD_LIBRARY_PATH_ORIG=%s", before);
    return variables;
}

#else

char **environment_for(const char *program) {
    (void)program; /* macOS finds the libraries by the program's own place */
    return environ;
}

#endif
