//  argos_sampling - reads the sampling members of a request. Pure.
//
//  Invariant: what comes out fits `sampling` of message.inbound. A later row of the table wins over
//  an earlier one of the same name there.

#include "argos_sampling.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define S_STOPS_MAX 4              //  Ends of one request
#define S_STOP_MAX 256             //  Bytes of one
#define S_WHOLE 9007199254740992.0 //  Numbers up to it are exact everywhere

typedef enum {
    S_NUMBER, //  Any number
    S_WHOLES, //  Without a fraction
    S_ENDS    //  A string, or an array of them
} s_kind_t;

static const struct {
    const char *name; //  In the request
    const char *ours; //  In message.inbound
    s_kind_t kind;    //  What it must be
    double min, max;  //  Of a number
} s_members[] = { { "temperature", "temperature", S_NUMBER, 0, 2 },
    { "top_p", "top_p", S_NUMBER, 0, 1 }, { "max_tokens", "max_tokens", S_WHOLES, 1, 16777216 },
    { "max_completion_tokens", "max_tokens", S_WHOLES, 1, 16777216 },
    { "max_output_tokens", "max_tokens", S_WHOLES, 1, 16777216 }, { "stop", "stop", S_ENDS, 0, 0 },
    { "seed", "seed", S_WHOLES, -S_WHOLE, S_WHOLE },
    { "presence_penalty", "presence_penalty", S_NUMBER, -2, 2 },
    { "frequency_penalty", "frequency_penalty", S_NUMBER, -2, 2 } };

#define S_MEMBERS (sizeof s_members / sizeof *s_members)

//  The value as it goes on, new; NULL = it is none.

static json_t *
s_number (size_t row, json_t *value)
{
    double number = json_number_value (value);
    bool whole = s_members[row].kind == S_WHOLES;
    if (!json_is_number (value) || number < s_members[row].min || number > s_members[row].max)
        return NULL;
    if (!whole || json_is_integer (value))
        return json_incref (value);
    return number == trunc (number) ? json_integer ((json_int_t) number) : NULL;
}

//  A list of them, new, may be empty; NULL = it is none.

static json_t *
s_ends (json_t *value)
{
    json_t *list = json_is_string (value) ? json_pack ("[O]", value) : json_incref (value), *end;
    size_t i;
    bool good = json_is_array (list) && json_array_size (list) <= S_STOPS_MAX;
    json_array_foreach (list, i, end)
        good = good && json_string_length (end) > 0 && json_string_length (end) <= S_STOP_MAX;
    if (good)
        return list;
    json_decref (list);
    return NULL;
}

static int
s_refuse (size_t row, argos_run_problem_t *problem)
{
    const char *name = s_members[row].name;
    if (s_members[row].kind == S_ENDS)
        return argos_problem (problem, 400, NULL, name,
            "'%s' must be a string or an array of up to %d strings, each of 1 to %d bytes.", name,
            S_STOPS_MAX, S_STOP_MAX);
    return argos_problem (problem, 400, NULL, name, "'%s' must be %s from %.0f to %.0f.", name,
        s_members[row].kind == S_WHOLES ? "an integer" : "a number", s_members[row].min,
        s_members[row].max);
}

int
argos_sampling_read (const json_t *root, json_t **ret_sampling, argos_run_problem_t *ret_problem)
{
    json_t *sampling = json_object ();
    for (size_t i = 0; i < S_MEMBERS; i++) {
        json_t *value = json_object_get (root, s_members[i].name);
        if (!value || json_is_null (value))
            continue;
        json_t *ours = s_members[i].kind == S_ENDS ? s_ends (value) : s_number (i, value);
        if (!ours) {
            json_decref (sampling);
            return s_refuse (i, ret_problem);
        }
        if (json_is_array (ours) && json_array_size (ours) == 0)
            json_decref (ours);
        else
            (void) json_object_set_new (sampling, s_members[i].ours, ours);
    }
    *ret_sampling = json_object_size (sampling) ? json_incref (sampling) : NULL;
    json_decref (sampling);
    return 0;
}

bool
argos_sampling_knows (const char *name)
{
    for (size_t i = 0; i < S_MEMBERS; i++)
        if (strcmp (s_members[i].name, name) == 0)
            return true;
    return false;
}
