//go:build !purego

#include "textflag.h"

DATA laneShifts<>+0(SB)/8, $0
DATA laneShifts<>+8(SB)/8, $1
DATA laneShifts<>+16(SB)/8, $2
DATA laneShifts<>+24(SB)/8, $3
GLOBL laneShifts<>(SB), RODATA|NOPTR, $32

// PROBE shifts into AX whether the set at R8 has the rank at an offset from R9.
#define PROBE(offset) \
	MOVL offset(R9), R10; \
	MOVL R10, R11; \
	SHRL $5, R11; \
	MOVL (R8)(R11*4), R11; \
	BTL  R10, R11; \
	ADCQ AX, AX

// LOOKUP shifts the answers for the next R13 ≤ 64 of the R12 ranks from R9 on into AX, from the highest bit on, and goes
// on behind them. It uses BX and CX.
#define LOOKUP \
	MOVQ    $64, R13; \
	CMPQ    R12, R13; \
	CMOVQLT R12, R13; \
	XORL    AX, AX; \
	MOVQ    R13, BX; \
	SHRQ    $3, BX; \
	JZ      single; \
eight: \
	PROBE(0); \
	PROBE(4); \
	PROBE(8); \
	PROBE(12); \
	PROBE(16); \
	PROBE(20); \
	PROBE(24); \
	PROBE(28); \
	ADDQ $32, R9; \
	DECQ BX; \
	JNZ  eight; \
single: \
	MOVQ R13, BX; \
	ANDQ $7, BX; \
	JZ   looked; \
one: \
	PROBE(0); \
	ADDQ $4, R9; \
	DECQ BX; \
	JNZ  one; \
looked: \
	MOVQ $64, CX; \
	SUBQ R13, CX; \
	SHLQ CX, AX

// CLOSE adds four places: the lanes of Y0 with their sign set are those in the set.
#define CLOSE(offset, sum) \
	VBLENDVPD Y0, offset(DX), Y4, Y1; \
	VBLENDVPD Y0, Y7, Y4, Y2; \
	VADDPD    Y1, sum, sum; \
	VADDPD    offset(SI), Y2, Y2; \
	VMOVUPD   Y2, offset(SI); \
	VPSLLQ    $4, Y0, Y0

// func closeBlocks(sums *[closingLanes]float64, acc, delta *float64, row *uint64, list *rank, count int, at float64)
TEXT ·closeBlocks(SB), NOSPLIT, $0-56
	MOVQ         acc+8(FP), SI
	MOVQ         delta+16(FP), DX
	MOVQ         row+24(FP), R8
	MOVQ         list+32(FP), R9
	MOVQ         count+40(FP), R12
	VBROADCASTSD at+48(FP), Y7
	VMOVDQU      laneShifts<>(SB), Y3
	VXORPD       Y4, Y4, Y4
	VXORPD       Y5, Y5, Y5
	VXORPD       Y6, Y6, Y6

block:
	LOOKUP
	TESTQ        AX, AX
	JZ           none
	VMOVQ        AX, X0
	VPBROADCASTQ X0, Y0
	VPSLLVQ      Y3, Y0, Y0
	LEAQ         7(R13), BX
	SHRQ         $3, BX

places:
	CLOSE(0, Y5)
	CLOSE(32, Y6)
	ADDQ $64, DX
	ADDQ $64, SI
	DECQ BX
	JNZ  places
	SUBQ R13, R12
	JNZ  block
	JMP  done

none:
	ADDQ $512, DX
	ADDQ $512, SI
	SUBQ R13, R12
	JNZ  block

done:
	MOVQ    sums+0(FP), DI
	VMOVUPD Y5, (DI)
	VMOVUPD Y6, 32(DI)
	VZEROUPPER
	RET

// func lookUpBlocks(found *uint64, set *uint64, list *rank, count int, next *rank)
TEXT ·lookUpBlocks(SB), NOSPLIT, $0-40
	MOVQ       found+0(FP), DI
	MOVQ       set+8(FP), R8
	MOVQ       list+16(FP), R9
	MOVQ       count+24(FP), R12
	MOVQ       next+32(FP), R10
	PREFETCHT0 (R10)
	PREFETCHT0 64(R10)
	PREFETCHT0 128(R10)
	PREFETCHT0 192(R10)

block:
	LOOKUP
	MOVQ AX, (DI)
	ADDQ $8, DI
	SUBQ R13, R12
	JNZ  block
	RET
