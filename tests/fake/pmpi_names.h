/* SPDX-License-Identifier: BSD-3-Clause */
/* Included before everything else where src/interpose/calls is compiled for tests: its PMPI_ calls reach the fake
 * (pmpi.cpp). */
#ifndef THENCE_FAKE_PMPI_NAMES_H
#define THENCE_FAKE_PMPI_NAMES_H

#define PMPI_Init thence_fake_Init
#define PMPI_Init_thread thence_fake_Init_thread
#define PMPI_Query_thread thence_fake_Query_thread
#define PMPI_Finalize thence_fake_Finalize
#define PMPI_Test thence_fake_Test
#define PMPI_Testall thence_fake_Testall
#define PMPI_Testany thence_fake_Testany
#define PMPI_Testsome thence_fake_Testsome
#define PMPI_Wait thence_fake_Wait
#define PMPI_Waitall thence_fake_Waitall
#define PMPI_Waitany thence_fake_Waitany
#define PMPI_Waitsome thence_fake_Waitsome
#define PMPI_Start thence_fake_Start
#define PMPI_Startall thence_fake_Startall
#define PMPI_Request_free thence_fake_Request_free
#define PMPI_Request_get_status thence_fake_Request_get_status
#define PMPI_Grequest_complete thence_fake_Grequest_complete
#define PMPI_Cancel thence_fake_Cancel
#define PMPI_Type_size thence_fake_Type_size
#define PMPI_Op_free thence_fake_Op_free
#define PMPI_Comm_call_errhandler thence_fake_Comm_call_errhandler
#define PMPI_Comm_set_attr thence_fake_Comm_set_attr
#define PMPI_Send_init thence_fake_Send_init
#define PMPI_Bsend_init thence_fake_Bsend_init
#define PMPI_Ssend_init thence_fake_Ssend_init
#define PMPI_Rsend_init thence_fake_Rsend_init
#define PMPI_Recv_init thence_fake_Recv_init
#define PMPI_Psend_init thence_fake_Psend_init
#define PMPI_Precv_init thence_fake_Precv_init
#define PMPI_Irecv thence_fake_Irecv
#define PMPI_Bsend thence_fake_Bsend
#define PMPI_Iprobe thence_fake_Iprobe
#define PMPI_Improbe thence_fake_Improbe
#define PMPI_Pready thence_fake_Pready
#define PMPI_Parrived thence_fake_Parrived
#define PMPI_File_read thence_fake_File_read
#define PMPI_File_write_at thence_fake_File_write_at
#define PMPI_Put thence_fake_Put
#define PMPI_Get thence_fake_Get
#define PMPI_Fetch_and_op thence_fake_Fetch_and_op
#define PMPI_Win_flush thence_fake_Win_flush
#define PMPI_Win_test thence_fake_Win_test
#define PMPI_Win_wait thence_fake_Win_wait
#define PMPI_Win_flush_local thence_fake_Win_flush_local
#define PMPI_Win_flush_local_all thence_fake_Win_flush_local_all

#endif
