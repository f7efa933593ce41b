//  replay - runs a fuzz target over the files of folders: the corpus as an ordinary test.
//
//  Invariant: every file of every folder named is read whole. Limit: 1 MiB a file.

#include "fuzz.h"

#include <dirent.h>
#include <string.h>

#define FILE_MAX 1048576

static int
s_run (const char *path)
{
    FILE *file = fopen (path, "rb");
    if (!file) {
        perror (path);
        return -1;
    }
    //  Allocated to the size, so that a sanitizer sees a read behind the end
    uint8_t *buffer = malloc (FILE_MAX);
    size_t size = buffer ? fread (buffer, 1, FILE_MAX, file) : 0;
    uint8_t *data = malloc (size ? size : 1);
    fclose (file);
    if (buffer && data) {
        memcpy (data, buffer, size);
        LLVMFuzzerTestOneInput (data, size);
    }
    free (buffer);
    free (data);
    return 0;
}

static int
s_run_folder (const char *folder, int *count)
{
    char path[4096];
    DIR *dir = opendir (folder);
    if (!dir) {
        perror (folder);
        return -1;
    }
    for (struct dirent *entry = readdir (dir); entry; entry = readdir (dir)) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf (path, sizeof path, "%s/%s", folder, entry->d_name);
        if (s_run (path) == 0)
            (*count)++;
    }
    closedir (dir);
    return 0;
}

int
main (int argc, char **argv)
{
    int count = 0;
    for (int i = 1; i < argc; i++)
        if (s_run_folder (argv[i], &count) != 0)
            return 1;
    printf ("%d inputs\n", count);
    return count ? 0 : 1;
}
