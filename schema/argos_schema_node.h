//  argos_schema_node - the compiled form of a schema, shared by the compiler and the validator;
//  private to schema/.
//
//  Built once, then read-only: any number of threads may validate with the same node.

#ifndef ARGOS_SCHEMA_NODE_H
#define ARGOS_SCHEMA_NODE_H

#include "argos_schema.h"

#include <stdint.h>

//  Kinds of values that a node lets in, as bits

enum {
    ARGOS_KIND_NULL = 1,    //  null
    ARGOS_KIND_BOOLEAN = 2, //  true, false
    ARGOS_KIND_INTEGER = 4, //  a number written without fraction and exponent
    ARGOS_KIND_NUMBER = 8,  //  any number
    ARGOS_KIND_STRING = 16, //  string
    ARGOS_KIND_ARRAY = 32,  //  array
    ARGOS_KIND_OBJECT = 64, //  object
    ARGOS_KIND_ANY = 127    //  all of them
};

typedef struct argos_schema_pattern argos_schema_pattern_t;

//  The expression of that text, in the subset of schema/README.md: compiled once and shared. NULL
//  when it is none, *ret_fault says why (static). Any thread may call all three.
argos_schema_pattern_t *argos_schema_pattern_new (const char *text, const char **ret_fault);

//  Gives it back.
void argos_schema_pattern_destroy (argos_schema_pattern_t **self_p);

//  Whether the text, up to its NUL, matches.
bool argos_schema_pattern_fits (const argos_schema_pattern_t *self, const char *text);

typedef struct {
    char *name;             //  Member name, owned
    argos_schema_t *schema; //  What the member must be, owned
    bool required;          //  Whether it must be there
} argos_schema_member_t;

typedef struct {
    argos_schema_t *when; //  When the object is so, owned
    argos_schema_t *then; //  It has to be so, too, owned
} argos_schema_condition_t;

struct argos_schema {
    unsigned kinds;                 //  Which kinds of values fit
    bool closed;                    //  Object: no members but the listed ones
    size_t member_count;            //  Object: entries of members
    argos_schema_member_t *members; //  Object: known members, owned
    argos_schema_t *others;         //  Object: what all others must be, owned; NULL = anything
    argos_schema_t *names;          //  Object: what a name must be, owned; NULL = anything
    size_t condition_count;         //  Object: entries of conditions
    argos_schema_condition_t *conditions; //  Object: what follows from what, owned
    argos_schema_t *items;                //  Array: what each item must be, owned; NULL = anything
    int64_t min_items, max_items;         //  Array: bounds
    int64_t min_length, max_length;       //  String: bounds in code points
    int64_t max_bytes;                    //  String: bound in bytes
    argos_schema_pattern_t *pattern;      //  String: what it must match, shared; NULL = anything
    double minimum, maximum;              //  Numbers: bounds, infinite when there are none
    json_t *allowed; //  Array of the values of enum or const, owned; NULL = all
    char *expected;  //  What fits, in words, owned
};

//  jansson's iterators want a value that is not const, though they only read

static inline json_t *
argos_schema_iterable (const json_t *value)
{
    union {
        const json_t *given;
        json_t *wanted;
    } view = { value };
    return view.wanted;
}

#endif
