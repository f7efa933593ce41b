//  argos_media - files between the store and temporary files without a name.
//
//  Blobs are named by their content (docs/messages.md, Files). One piece is on its way at a time; a
//  file that is there already is not sent again. All answers come from the peer's turn; at the end
//  of the peer too, with a problem.

#ifndef ARGOS_MEDIA_H
#define ARGOS_MEDIA_H

#include "argos_peer.h"

#define ARGOS_MEDIA_BLOB 72 //  Bytes of the id of a blob, terminated

//  problem "" = it is done. blob names it; fd (get: the caller's from now on; put: as it was) holds
//  it from its beginning, -1 with a problem.
typedef void (argos_media_fn) (
    void *arg, const char *problem, const char *blob, int fd, int64_t size);

//  A temporary file without a name, close-on-exec; -1 = there is none.
int argos_media_temporary (void);

//  Puts the file (at most max bytes) under its content; fd is borrowed until fn is told. name and
//  media_type may be NULL; copied.
void argos_media_put (argos_peer_t *peer, int fd, const char *name, const char *media_type,
    argos_media_fn *fn, void *arg);

//  Gets a blob of at most max bytes.
void argos_media_get (
    argos_peer_t *peer, const char *blob, int64_t max, argos_media_fn *fn, void *arg);

#endif
