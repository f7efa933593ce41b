//  fuzz_run_request - the body of POST /v1/runs.
//
//  Holds: a refusal has a status and a sentence; what was taken makes a message.inbound that fits
//  its schema, or is refused as too large.

#include "argos_run_request.h"
#include "argos_schema.h"
#include "fuzz.h"

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    static int ready;
    char reason[256], lane[257];
    argos_run_problem_t problem = { 0 };
    argos_run_request_t request;
    if (!ready)
        FUZZ_CHECK (argos_schema_init (reason) == 0);
    ready = 1;
    json_t *root = argos_run_request_root ((const char *) data, size, &problem);
    int rc = root ? argos_run_request_read (root, &request, &problem) : -1;
    json_decref (root);
    if (rc != 0) {
        FUZZ_CHECK (problem.status >= 400 && problem.status < 500 && *problem.message);
        return 0;
    }
    if (argos_run_request_finish (&request, &problem) != 0) {
        argos_run_request_clear (&request);
        return 0;
    }
    json_t *inbound = argos_run_request_inbound (
        &request, "run_00000000000000000000000000000001", "main", NULL, lane, &problem);
    if (inbound)
        FUZZ_CHECK (
            argos_schema_check ("message.inbound", inbound, reason, sizeof reason) == ARGOS_OK);
    json_decref (inbound);
    argos_run_request_clear (&request);
    return 0;
}
