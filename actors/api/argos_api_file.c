//  argos_api_file - files of a run that came in the body of its request: images, and texts that are
//  too large for a message.
//
//  They are named by their content before anything is stored, so a repeat of a request makes the
//  same message. Stored one after the other, in pieces of 256 KiB. Limits: 16 files, together no
//  more than a body.

#include "argos_api_priv.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define S_PIECE 262144 //  Bytes of a piece

//  --------------------------------------------------------------------------
//  What there is

//  One more file with these bytes (stolen).

static void
s_add (argos_api_call_t *call, unsigned char *bytes, size_t size, const char *media_type,
    const char *name, const char *kind)
{
    unsigned char digest[crypto_hash_sha256_BYTES];
    argos_api_file_t *file = &call->files[call->file_count++];
    file->bytes = bytes;
    file->size = size;
    crypto_hash_sha256 (digest, bytes, size);
    memcpy (file->blob, "sha256:", 7);
    (void) sodium_bin2hex (file->blob + 7, sizeof file->blob - 7, digest, sizeof digest);
    (void) snprintf (file->media_type, sizeof file->media_type, "%s", media_type);
    (void) snprintf (file->name, sizeof file->name, "%s", name);
    if (!call->run.attachments)
        call->run.attachments = json_array ();
    (void) json_array_append_new (call->run.attachments,
        json_pack ("{s:s,s:s,s:s,s:s,s:I}", "blob", file->blob, "kind", kind, "name", file->name,
            "media_type", file->media_type, "size", (json_int_t) size));
}

bool
argos_api_files_take (argos_api_call_t *call, argos_run_problem_t *problem)
{
    char media_type[129], name[48];
    size_t index, size, count = json_array_size (call->run.images) + (call->run.large ? 1 : 0);
    json_t *url;
    if (!count)
        return true;
    call->files = calloc (count, sizeof *call->files);
    if (!call->files)
        abort ();
    json_array_foreach (call->run.images, index, url) {
        unsigned char *bytes = argos_content_decode (json_string_value (url), &size, media_type);
        if (!bytes) {
            (void) argos_problem (
                problem, 400, "invalid_image_url", "", "The data of an image is not valid base64.");
            return false;
        }
        const char *form = media_type + 6;
        bool plain = strspn (form, "abcdefghijklmnopqrstuvwxyz0123456789") == strlen (form);
        (void) snprintf (name, sizeof name, "image-%zu.%.12s", index + 1, plain ? form : "img");
        s_add (call, bytes, size, media_type, name, "image");
    }
    if (call->run.large) {
        size = json_string_length (call->run.large);
        unsigned char *bytes = malloc (size);
        if (!bytes)
            abort ();
        memcpy (bytes, json_string_value (call->run.large), size);
        s_add (call, bytes, size, "text/plain; charset=utf-8", ARGOS_RUN_LARGE_NAME, "document");
    }
    return true;
}

void
argos_api_files_free (argos_api_call_t *call)
{
    for (size_t i = 0; i < call->file_count; i++)
        free (call->files[i].bytes);
    free (call->files);
    call->files = NULL;
    call->file_count = 0;
}

//  --------------------------------------------------------------------------
//  Storing

static void s_send_piece (argos_api_call_t *call);

static void
s_on_piece (void *arg, const argos_peer_answer_t *answer)
{
    argos_api_call_t *call = arg;
    const argos_api_file_t *file = &call->files[call->file_next];
    if (answer->code != ARGOS_OK) {
        argos_api_stored (call, answer->code);
        return;
    }
    call->file_done +=
        file->size - call->file_done < S_PIECE ? file->size - call->file_done : S_PIECE;
    if (call->file_done == file->size) {
        call->file_next++;
        call->file_done = 0;
    }
    if (call->file_next == call->file_count)
        argos_api_stored (call, ARGOS_OK);
    else
        s_send_piece (call);
}

static void
s_send_piece (argos_api_call_t *call)
{
    const argos_api_file_t *file = &call->files[call->file_next];
    size_t left = file->size - call->file_done, size = left < S_PIECE ? left : S_PIECE;
    size_t room = sodium_base64_ENCODED_LEN (size, sodium_base64_VARIANT_ORIGINAL);
    char *text = malloc (room);
    if (!text)
        abort ();
    (void) sodium_bin2base64 (
        text, room, file->bytes + call->file_done, size, sodium_base64_VARIANT_ORIGINAL);
    const argos_peer_part_t part = { .type = "blob.put",
        .to = "store",
        .durable = true,
        .body = json_pack ("{s:s,s:I,s:I,s:s,s:s,s:s}", "blob", file->blob, "size",
            (json_int_t) file->size, "offset", (json_int_t) call->file_done, "data", text,
            "media_type", file->media_type, "name", file->name) };
    free (text);
    argos_err_t code =
        argos_peer_send (argos_shell_peer (call->api->shell), &part, s_on_piece, call);
    if (code != ARGOS_OK)
        argos_api_stored (call, code);
}

void
argos_api_files_store (argos_api_call_t *call)
{
    if (call->api->stopping)
        argos_api_stored (call, ARGOS_GONE);
    else
        s_send_piece (call);
}
