//go:build !purego

#include "textflag.h"

// How many neighbours ahead rows are prefetched.
#define AHEAD 48

// ADD adds the four columns at an offset of the row at R9 to a register.
#define ADD(offset, sum) \
	VCVTPS2PD offset(R9), Y8; \
	VADDPD    Y8, sum, sum

// FETCH prefetches the row of the neighbour AHEAD of the current one, whose address it leaves in R10.
#define FETCH \
	MOVL       (4*AHEAD)(SI), R10; \
	SUBL       R8, R10; \
	IMULQ      BX, R10; \
	ADDQ       DX, R10; \
	PREFETCHT0 (R10)

// ROW leaves the address of the current neighbour's row in R9.
#define ROW \
	MOVL  (SI), R9; \
	SUBL  R8, R9; \
	IMULQ BX, R9; \
	ADDQ  DX, R9

// ARGUMENTS loads what all kernels take, and leaves in R11 how many neighbours have one AHEAD of them, in CX how
// many have none.
#define ARGUMENTS \
	MOVQ    sums+0(FP), DI; \
	MOVQ    rows+8(FP), DX; \
	MOVQ    stride+16(FP), BX; \
	MOVQ    base+24(FP), R8; \
	MOVQ    neighbors+32(FP), SI; \
	MOVQ    count+40(FP), CX; \
	MOVQ    readable+48(FP), R11; \
	SUBQ    $AHEAD, R11; \
	XORQ    R12, R12; \
	CMPQ    R11, R12; \
	CMOVQLT R12, R11; \
	CMPQ    R11, CX; \
	CMOVQGT CX, R11; \
	SUBQ    R11, CX

// LOOPS runs over the neighbours, with prefetching while there is something ahead.
#define LOOPS(fetch, body) \
	TESTQ R11, R11; \
	JZ    rest; \
ahead: \
	fetch; \
	ROW; \
	body; \
	ADDQ  $4, SI; \
	DECQ  R11; \
	JNZ   ahead; \
rest: \
	TESTQ CX, CX; \
	JZ    done; \
last: \
	ROW; \
	body; \
	ADDQ  $4, SI; \
	DECQ  CX; \
	JNZ   last; \
done: \

#define FETCH2 FETCH; PREFETCHT0 47(R10)
#define FETCH128 FETCH; PREFETCHT0 64(R10)
#define FETCH3 FETCH; PREFETCHT0 64(R10); PREFETCHT0 111(R10)

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

// func addGroups1(sums *float64, rows *float32, stride, base uintptr, neighbors *kv.NodeID, count, readable int)
TEXT ·addGroups1(SB), NOSPLIT, $0-56
	ARGUMENTS
	LOAD1
	LOOPS(FETCH, BODY1)
	STORE1
	VZEROUPPER
	RET

// func addGroups2(sums *float64, rows *float32, stride, base uintptr, neighbors *kv.NodeID, count, readable int)
TEXT ·addGroups2(SB), NOSPLIT, $0-56
	ARGUMENTS
	LOAD2
	LOOPS(FETCH, BODY2)
	STORE2
	VZEROUPPER
	RET

// func addGroups3(sums *float64, rows *float32, stride, base uintptr, neighbors *kv.NodeID, count, readable int)
TEXT ·addGroups3(SB), NOSPLIT, $0-56
	ARGUMENTS
	LOAD3
	LOOPS(FETCH2, BODY3)
	STORE3
	VZEROUPPER
	RET

// func addGroups4(sums *float64, rows *float32, stride, base uintptr, neighbors *kv.NodeID, count, readable int)
TEXT ·addGroups4(SB), NOSPLIT, $0-56
	ARGUMENTS
	LOAD4
	LOOPS(FETCH, BODY4)
	STORE4
	VZEROUPPER
	RET

// func addGroups5(sums *float64, rows *float32, stride, base uintptr, neighbors *kv.NodeID, count, readable int)
TEXT ·addGroups5(SB), NOSPLIT, $0-56
	ARGUMENTS
	LOAD5
	LOOPS(FETCH128, BODY5)
	STORE5
	VZEROUPPER
	RET

// func addGroups6(sums *float64, rows *float32, stride, base uintptr, neighbors *kv.NodeID, count, readable int)
TEXT ·addGroups6(SB), NOSPLIT, $0-56
	ARGUMENTS
	LOAD6
	LOOPS(FETCH128, BODY6)
	STORE6
	VZEROUPPER
	RET

// func addGroups7(sums *float64, rows *float32, stride, base uintptr, neighbors *kv.NodeID, count, readable int)
TEXT ·addGroups7(SB), NOSPLIT, $0-56
	ARGUMENTS
	LOAD7
	LOOPS(FETCH3, BODY7)
	STORE7
	VZEROUPPER
	RET

// func addGroups8(sums *float64, rows *float32, stride, base uintptr, neighbors *kv.NodeID, count, readable int)
TEXT ·addGroups8(SB), NOSPLIT, $0-56
	ARGUMENTS
	LOAD8
	LOOPS(FETCH128, BODY8)
	STORE8
	VZEROUPPER
	RET

// PAIR adds the four columns at R13 and those at R14 of the row at R9.
#define PAIR \
	VCVTPS2PD (R9)(R13*1), Y8; \
	VADDPD    Y8, Y0, Y0; \
	VCVTPS2PD (R9)(R14*1), Y9; \
	VADDPD    Y9, Y1, Y1

#define FETCHPAIR \
	MOVL       (4*AHEAD)(SI), R10; \
	SUBL       R8, R10; \
	IMULQ      BX, R10; \
	ADDQ       DX, R10; \
	PREFETCHT0 (R10)(R13*1); \
	PREFETCHT0 (R10)(R14*1)

// func addPair(
//	sums *float64, rows *float32, stride, base uintptr, neighbors *kv.NodeID, count, readable int, left, right uintptr)
TEXT ·addPair(SB), NOSPLIT, $0-72
	ARGUMENTS
	MOVQ left+56(FP), R13
	MOVQ right+64(FP), R14
	LOAD2
	LOOPS(FETCHPAIR, PAIR)
	STORE2
	VZEROUPPER
	RET

// func addLabelled(sums *float64, marks *mark, base uintptr, neighbors *kv.NodeID, count, readable int)
TEXT ·addLabelled(SB), NOSPLIT, $0-48
	MOVQ    sums+0(FP), DI
	MOVQ    marks+8(FP), DX
	MOVQ    base+16(FP), R8
	MOVQ    neighbors+24(FP), SI
	MOVQ    count+32(FP), CX
	MOVQ    readable+40(FP), R11
	SUBQ    $AHEAD, R11
	XORQ    R12, R12
	CMPQ    R11, R12
	CMOVQLT R12, R11
	CMPQ    R11, CX
	CMOVQGT CX, R11
	SUBQ    R11, CX
	TESTQ   R11, R11
	JZ      rest

ahead:
	MOVL       (4*AHEAD)(SI), R10
	SUBL       R8, R10
	PREFETCHT0 (DX)(R10*8)
	MOVL       (SI), R9
	SUBL       R8, R9
	MOVL       (DX)(R9*8), AX
	VXORPS     X0, X0, X0
	VCVTSS2SD  4(DX)(R9*8), X0, X0
	VADDSD     (DI)(AX*8), X0, X0
	VMOVSD     X0, (DI)(AX*8)
	ADDQ       $4, SI
	DECQ       R11
	JNZ        ahead

rest:
	TESTQ CX, CX
	JZ    done

last:
	MOVL      (SI), R9
	SUBL      R8, R9
	MOVL      (DX)(R9*8), AX
	VXORPS    X0, X0, X0
	VCVTSS2SD 4(DX)(R9*8), X0, X0
	VADDSD    (DI)(AX*8), X0, X0
	VMOVSD    X0, (DI)(AX*8)
	ADDQ      $4, SI
	DECQ      CX
	JNZ       last

done:
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
