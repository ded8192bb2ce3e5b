/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What `spawn` of a task table gives to a runtime whose tasks have one function and one argument. */

#include <stdlib.h>

typedef struct thence_spawned_body_ {
    void (*body)(void *);
    void *argument;
    void (*completed)(void *);
    void *completed_argument;
} thence_spawned_body_;

/* Null: no memory. If the task cannot be started, the caller frees it. */
static inline thence_spawned_body_ *thence_spawned_body_make_(void (*body)(void *), void *argument,
                                                              void (*completed)(void *), void *completed_argument) {
    thence_spawned_body_ *made = (thence_spawned_body_ *)malloc(sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    made->body = body;
    made->argument = argument;
    made->completed = completed;
    made->completed_argument = completed_argument;
    return made;
}

/* The function of the task. Frees its argument. */
static inline void thence_spawned_body_run_(void *data) {
    thence_spawned_body_ self = *(thence_spawned_body_ *)data;
    free(data);
    self.body(self.argument);
    if (self.completed != NULL) {
        self.completed(self.completed_argument);
    }
}
