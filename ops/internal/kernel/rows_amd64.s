//go:build !purego

#include "textflag.h"

// How many neighbours ahead rows are prefetched.
#define AHEAD 48

// ADD adds the four columns at an offset of the row at R9 to a register.
#define ADD(offset, sum) \
	VCVTPS2PD offset(R9), Y8; \
	VADDPD    Y8, sum, sum

// FETCH prefetches the row of the neighbour AHEAD of the current one, which it leaves in R10 as bytes behind DX.
#define FETCH \
	MOVL       (4*AHEAD)(SI), R10; \
	IMULQ      BX, R10; \
	PREFETCHT0 (DX)(R10*1)

// PLACE leaves the place of the current neighbour's row in R9, as bytes behind DX.
#define PLACE \
	MOVL  (SI), R9; \
	IMULQ BX, R9

// ROW leaves the address of the current neighbour's row in R9.
#define ROW \
	PLACE; \
	ADDQ DX, R9

// COUNTS makes of CX neighbours, R11 of which may be read, how many have one AHEAD of them, in R11, and how many have
// none, in CX.
#define COUNTS \
	SUBQ    $AHEAD, R11; \
	XORQ    R12, R12; \
	CMPQ    R11, R12; \
	CMOVQLT R12, R11; \
	CMPQ    R11, CX; \
	CMOVQGT CX, R11; \
	SUBQ    R11, CX

// ARGUMENTS loads what all kernels of rows take. It leaves in DX where the row of node 0 would be.
#define ARGUMENTS \
	MOVQ  sums+0(FP), DI; \
	MOVQ  rows+8(FP), DX; \
	MOVQ  stride+16(FP), BX; \
	MOVQ  base+24(FP), R8; \
	IMULQ BX, R8; \
	SUBQ  R8, DX; \
	MOVQ  neighbors+32(FP), SI; \
	MOVQ  count+40(FP), CX; \
	MOVQ  readable+48(FP), R11; \
	COUNTS

// MARKS loads what the kernels of marks take. It leaves in DX where the mark of node 0 would be.
#define MARKS \
	MOVQ sums+0(FP), DI; \
	MOVQ marks+8(FP), DX; \
	MOVQ base+16(FP), R8; \
	SHLQ $3, R8; \
	SUBQ R8, DX; \
	MOVQ neighbors+24(FP), SI; \
	MOVQ count+32(FP), CX; \
	MOVQ readable+40(FP), R11; \
	COUNTS

// LOOPS runs over the neighbours, with prefetching while there is something ahead.
#define LOOPS(fetch, row, body) \
	TESTQ R11, R11; \
	JZ    rest; \
ahead: \
	fetch; \
	row; \
	body; \
	ADDQ  $4, SI; \
	DECQ  R11; \
	JNZ   ahead; \
rest: \
	TESTQ CX, CX; \
	JZ    done; \
last: \
	row; \
	body; \
	ADDQ  $4, SI; \
	DECQ  CX; \
	JNZ   last; \
done: \

#define FETCH2 FETCH; PREFETCHT0 47(DX)(R10*1)
#define FETCH128 FETCH; PREFETCHT0 64(DX)(R10*1)
#define FETCH3 FETCH128; PREFETCHT0 111(DX)(R10*1)

#define BODY1 ADD(0, Y0)
#define BODY2 BODY1; ADD(16, Y1)
#define BODY3 BODY2; ADD(32, Y2)
#define BODY4 BODY3; ADD(48, Y3)
#define BODY5 BODY4; ADD(64, Y4)
#define BODY6 BODY5; ADD(80, Y5)
#define BODY7 BODY6; ADD(96, Y6)
#define BODY8 BODY7; ADD(112, Y7)

#define LOAD1 VMOVUPD (DI), Y0
#define LOAD2 LOAD1; VMOVUPD 32(DI), Y1
#define LOAD3 LOAD2; VMOVUPD 64(DI), Y2
#define LOAD4 LOAD3; VMOVUPD 96(DI), Y3
#define LOAD5 LOAD4; VMOVUPD 128(DI), Y4
#define LOAD6 LOAD5; VMOVUPD 160(DI), Y5
#define LOAD7 LOAD6; VMOVUPD 192(DI), Y6
#define LOAD8 LOAD7; VMOVUPD 224(DI), Y7

#define STORE1 VMOVUPD Y0, (DI)
#define STORE2 STORE1; VMOVUPD Y1, 32(DI)
#define STORE3 STORE2; VMOVUPD Y2, 64(DI)
#define STORE4 STORE3; VMOVUPD Y3, 96(DI)
#define STORE5 STORE4; VMOVUPD Y4, 128(DI)
#define STORE6 STORE5; VMOVUPD Y5, 160(DI)
#define STORE7 STORE6; VMOVUPD Y6, 192(DI)
#define STORE8 STORE7; VMOVUPD Y7, 224(DI)

// KERNEL is a whole function that adds some groups.
#define KERNEL(load, fetch, body, store) \
	ARGUMENTS; \
	load; \
	LOOPS(fetch, ROW, body); \
	store; \
	VZEROUPPER; \
	RET

// CASE goes on in the kernel for a number of groups, if that is the one in AX.
#define CASE(groups, kernel) \
	CMPQ AX, groups; \
	JNE  2(PC); \
	JMP  kernel

// func addGroups(
//	sums *float64, rows *float32, stride, base uintptr, neighbors *kv.NodeID, count, readable, groups int)
TEXT ·addGroups(SB), NOSPLIT, $0-64
	MOVQ groups+56(FP), AX
	CASE($1, add1<>(SB))
	CASE($2, add2<>(SB))
	CASE($3, add3<>(SB))
	CASE($4, add4<>(SB))
	CASE($5, add5<>(SB))
	CASE($6, add6<>(SB))
	CASE($7, add7<>(SB))
	CASE($8, add8<>(SB))
	RET

TEXT add1<>(SB), NOSPLIT, $0-64
	KERNEL(LOAD1, FETCH, BODY1, STORE1)

TEXT add2<>(SB), NOSPLIT, $0-64
	KERNEL(LOAD2, FETCH, BODY2, STORE2)

TEXT add3<>(SB), NOSPLIT, $0-64
	KERNEL(LOAD3, FETCH2, BODY3, STORE3)

TEXT add4<>(SB), NOSPLIT, $0-64
	KERNEL(LOAD4, FETCH, BODY4, STORE4)

TEXT add5<>(SB), NOSPLIT, $0-64
	KERNEL(LOAD5, FETCH128, BODY5, STORE5)

TEXT add6<>(SB), NOSPLIT, $0-64
	KERNEL(LOAD6, FETCH128, BODY6, STORE6)

TEXT add7<>(SB), NOSPLIT, $0-64
	KERNEL(LOAD7, FETCH3, BODY7, STORE7)

TEXT add8<>(SB), NOSPLIT, $0-64
	KERNEL(LOAD8, FETCH128, BODY8, STORE8)

// WEIGHT leaves the weight of the current neighbour in all of Y9.
#define WEIGHT \
	VBROADCASTSS (R13), X9; \
	VCVTPS2PD    X9, Y9; \
	ADDQ         $4, R13

// ADDWEIGHTED is ADD of the columns times the weight.
#define ADDWEIGHTED(offset, sum) \
	VCVTPS2PD offset(R9), Y8; \
	VMULPD    Y9, Y8, Y8; \
	VADDPD    Y8, sum, sum

#define WEIGHTED1 WEIGHT; ADDWEIGHTED(0, Y0)
#define WEIGHTED2 WEIGHTED1; ADDWEIGHTED(16, Y1)
#define WEIGHTED3 WEIGHTED2; ADDWEIGHTED(32, Y2)
#define WEIGHTED4 WEIGHTED3; ADDWEIGHTED(48, Y3)
#define WEIGHTED5 WEIGHTED4; ADDWEIGHTED(64, Y4)
#define WEIGHTED6 WEIGHTED5; ADDWEIGHTED(80, Y5)
#define WEIGHTED7 WEIGHTED6; ADDWEIGHTED(96, Y6)
#define WEIGHTED8 WEIGHTED7; ADDWEIGHTED(112, Y7)

// func addWeightedGroups(
//	sums *float64, rows *float32, stride, base uintptr, neighbors *kv.NodeID, count, readable, groups int,
//	weights *float32)
TEXT ·addWeightedGroups(SB), NOSPLIT, $0-72
	MOVQ groups+56(FP), AX
	MOVQ weights+64(FP), R13
	CASE($1, addWeighted1<>(SB))
	CASE($2, addWeighted2<>(SB))
	CASE($3, addWeighted3<>(SB))
	CASE($4, addWeighted4<>(SB))
	CASE($5, addWeighted5<>(SB))
	CASE($6, addWeighted6<>(SB))
	CASE($7, addWeighted7<>(SB))
	CASE($8, addWeighted8<>(SB))
	RET

TEXT addWeighted1<>(SB), NOSPLIT, $0-72
	KERNEL(LOAD1, FETCH, WEIGHTED1, STORE1)

TEXT addWeighted2<>(SB), NOSPLIT, $0-72
	KERNEL(LOAD2, FETCH, WEIGHTED2, STORE2)

TEXT addWeighted3<>(SB), NOSPLIT, $0-72
	KERNEL(LOAD3, FETCH2, WEIGHTED3, STORE3)

TEXT addWeighted4<>(SB), NOSPLIT, $0-72
	KERNEL(LOAD4, FETCH, WEIGHTED4, STORE4)

TEXT addWeighted5<>(SB), NOSPLIT, $0-72
	KERNEL(LOAD5, FETCH128, WEIGHTED5, STORE5)

TEXT addWeighted6<>(SB), NOSPLIT, $0-72
	KERNEL(LOAD6, FETCH128, WEIGHTED6, STORE6)

TEXT addWeighted7<>(SB), NOSPLIT, $0-72
	KERNEL(LOAD7, FETCH3, WEIGHTED7, STORE7)

TEXT addWeighted8<>(SB), NOSPLIT, $0-72
	KERNEL(LOAD8, FETCH128, WEIGHTED8, STORE8)

#define FETCHMARK \
	MOVL       (4*AHEAD)(SI), R10; \
	PREFETCHT0 (DX)(R10*8)

// MARK leaves the number of the current neighbour in R9.
#define MARK MOVL (SI), R9

// LABEL adds the scale of a mark to the sum of its column.
#define LABEL \
	MOVL      (DX)(R9*8), AX; \
	VXORPS    X0, X0, X0; \
	VCVTSS2SD 4(DX)(R9*8), X0, X0; \
	VADDSD    (DI)(AX*8), X0, X0; \
	VMOVSD    X0, (DI)(AX*8)

// func addLabelled(sums *float64, marks *mark, base uintptr, neighbors *kv.NodeID, count, readable int)
TEXT ·addLabelled(SB), NOSPLIT, $0-48
	MARKS
	LOOPS(FETCHMARK, MARK, LABEL)
	RET

// func finishGroups(row, next, input *float32, sums *float64, groups int, scale, squared, diagonal float64)
TEXT ·finishGroups(SB), NOSPLIT, $0-64
	MOVQ         row+0(FP), DI
	MOVQ         next+8(FP), DX
	MOVQ         input+16(FP), BX
	MOVQ         sums+24(FP), SI
	MOVQ         groups+32(FP), CX
	VBROADCASTSD scale+40(FP), Y4
	VBROADCASTSD squared+48(FP), Y5
	VBROADCASTSD diagonal+56(FP), Y6

group:
	VMOVUPD (SI), Y0
	VMULPD  Y0, Y4, Y1
	TESTQ   BX, BX
	JZ      whole
	VCVTPS2PD (BX), Y2
	VMULPD    Y2, Y6, Y2
	VSUBPD    Y2, Y1, Y1
	ADDQ      $16, BX

whole:
	VCVTPD2PSY Y1, X1
	VMOVUPS    X1, (DI)
	ADDQ       $16, DI
	TESTQ      DX, DX
	JZ         visited
	VMULPD     Y0, Y5, Y0
	VCVTPD2PSY Y0, X0
	VMOVUPS    X0, (DX)
	ADDQ       $16, DX

visited:
	ADDQ $32, SI
	DECQ CX
	JNZ  group
	VZEROUPPER
	RET
