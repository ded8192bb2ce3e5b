/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STANDIN_QTIMER_H
#define STANDIN_QTIMER_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct qtimer_s *qtimer_t;
qtimer_t qtimer_create(void);
void qtimer_destroy(qtimer_t timer);
void qtimer_start(qtimer_t timer);
void qtimer_stop(qtimer_t timer);
double qtimer_secs(qtimer_t timer);

#ifdef __cplusplus
}
#endif
#endif
