//  argos_store_prefix - the beginning of a word (`word*`) as the words of the index that begin so.
//
//  Invariant: what comes out finds the same messages as the beginning. FTS5 gathers for a beginning
//  all messages with all its words before it shows the first; words can be looked up in a part of
//  the messages. Limit: WORDS_MAX words; a beginning of more is not spelled out, and neither is one
//  that is not one word.

#include "argos_store_priv.h"
#include "argos_store_query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 256 //  Words of one beginning
#define WORD_SIZE 256 //  Bytes of a word, terminated

//  The tables through which the words of an index are seen: of search, and of the one in memory

#define VOCABULARY                                                                                 \
    "CREATE VIRTUAL TABLE IF NOT EXISTS temp.tail_words USING fts5 (content);"                     \
    "DELETE FROM temp.tail_words;"                                                                 \
    "CREATE VIRTUAL TABLE IF NOT EXISTS temp.word_terms USING fts5vocab"                           \
    " (main, message_words, instance);"                                                            \
    "CREATE VIRTUAL TABLE IF NOT EXISTS temp.tail_terms USING fts5vocab"                           \
    " (temp, tail_words, instance)"

//  A word as the index would have it: in small letters and without accents. False when it is not
//  one there.

static bool
s_fold (argos_store_t *self, const argos_store_word_t *word, char target[static WORD_SIZE])
{
    char text[WORD_SIZE];
    if (word->size >= sizeof text)
        return false;
    memcpy (text, word->text, word->size);
    text[word->size] = 0;
    argos_store_run (self, ARGOS_SQL_TAIL_WORD, "s", (const char *) text);
    argos_sql_row_t *stmt = argos_store_query (self, ARGOS_SQL_TAIL_TERMS, "");
    bool one = stmt && argos_sql_size (stmt, 0) < WORD_SIZE - 1;
    if (one) {
        argos_store_text (stmt, 0, target, WORD_SIZE);
        one = !argos_store_next (self, stmt);
    }
    argos_store_end (self, ARGOS_SQL_TAIL_TERMS);
    argos_store_exec (self, "DELETE FROM temp.tail_words");
    return one && !self->failed;
}

//  ("one" OR "other"), new: the words of the index that begin so. NULL when there are too many.

static char *
s_spell (argos_store_t *self, const char *beginning)
{
    char from[WORD_SIZE + 2], *text = NULL;
    size_t size, count = 0, length = strlen (beginning);
    FILE *out = open_memstream (&text, &size);
    if (!out)
        abort ();
    //  Itself as well: there has to be a word
    fprintf (out, "(\"%s\"", beginning);
    argos_store_text_copy (from, beginning, sizeof from);
    for (; count <= WORDS_MAX; count++) {
        char word[WORD_SIZE] = "";
        argos_sql_row_t *stmt =
            argos_store_query (self, ARGOS_SQL_WORD_NEXT, "s", (const char *) from);
        if (stmt)
            argos_store_text (stmt, 0, word, sizeof word);
        argos_store_end (self, ARGOS_SQL_WORD_NEXT);
        if (!*word || strncmp (word, beginning, length) != 0)
            break;
        fprintf (out, " OR \"%s\"", word);
        //  Behind it: no word has that character
        snprintf (from, sizeof from, "%s\x01", word);
    }
    fputc (')', out);
    fclose (out);
    if (count <= WORDS_MAX && !self->failed)
        return text;
    free (text);
    return NULL;
}

char *
argos_store_prefix_text (argos_store_t *self, const argos_store_query_t *query)
{
    char *words[ARGOS_STORE_WORDS_MAX] = { NULL }, folded[WORD_SIZE], *text = NULL;
    bool good = argos_store_exec (self, VOCABULARY) == 0;
    for (size_t i = 0; i < query->count && good; i++) {
        if (!query->words[i].star)
            continue;
        good = s_fold (self, &query->words[i], folded);
        if (good)
            words[i] = s_spell (self, folded);
        good = words[i] != NULL;
    }
    if (good)
        text = argos_store_query_spelled (query, words);
    for (size_t i = 0; i < query->count; i++)
        free (words[i]);
    return text;
}
