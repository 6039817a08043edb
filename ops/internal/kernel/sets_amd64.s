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

// CLOSE adds four places of two rows: the lanes of Y0 and of Y1 with their sign set are those in the first and in the
// second.
#define CLOSE(offset, first, second) \
	VMOVUPD   offset(DX), Y12; \
	VBLENDVPD Y0, Y12, Y4, Y2; \
	VBLENDVPD Y1, Y12, Y4, Y12; \
	VBLENDVPD Y0, Y10, Y4, Y13; \
	VBLENDVPD Y1, Y11, Y4, Y14; \
	VADDPD    Y2, first, first; \
	VADDPD    Y12, second, second; \
	VADDPD    offset(SI), Y13, Y13; \
	VADDPD    Y14, Y13, Y13; \
	VMOVUPD   Y13, offset(SI); \
	VPSLLQ    $4, Y0, Y0; \
	VPSLLQ    $4, Y1, Y1

// SPREAD puts the answers in AX and R14 into the lanes of Y0 and Y1, the first four places first.
#define SPREAD \
	VMOVQ        AX, X0; \
	VMOVQ        R14, X1; \
	VPBROADCASTQ X0, Y0; \
	VPBROADCASTQ X1, Y1; \
	VPSLLVQ      Y3, Y0, Y0; \
	VPSLLVQ      Y3, Y1, Y1

// SUM adds up eight lanes, in the order of sumLanes.
#define SUM(lanes, more, lane, scratch) \
	VADDPD       more, lanes, lanes; \
	VHADDPD      lanes, lanes, lanes; \
	VEXTRACTF128 $1, lanes, scratch; \
	VADDSD       scratch, lane, lane

// func family() uint32
TEXT ·family(SB), NOSPLIT, $0-4
	MOVL  $1, AX
	XORL  CX, CX
	CPUID
	MOVL  AX, BX
	SHRL  $8, AX
	ANDL  $15, AX
	CMPL  AX, $15
	JNE   short
	SHRL  $20, BX // families from 15 on have a second part
	ANDL  $255, BX
	ADDL  BX, AX

short:
	MOVL AX, ret+0(FP)
	RET

// func closeWords(acc, delta *float64, words *MapWord, shared, all int, first, second, third, fourth *uint64, atFirst, atSecond float64) (ofFirst, ofSecond float64)
TEXT ·closeWords(SB), NOSPLIT, $0-104
	MOVQ         acc+0(FP), SI
	MOVQ         delta+8(FP), DX
	MOVQ         words+16(FP), R9
	MOVQ         shared+24(FP), R12
	MOVQ         all+32(FP), R15
	MOVQ         first+40(FP), R8
	MOVQ         second+48(FP), R13
	MOVQ         third+56(FP), DI
	MOVQ         fourth+64(FP), BX
	VBROADCASTSD atFirst+72(FP), Y10
	VBROADCASTSD atSecond+80(FP), Y11
	VMOVDQU      laneShifts<>(SB), Y3
	VXORPD       Y4, Y4, Y4
	VXORPD       Y5, Y5, Y5
	VXORPD       Y6, Y6, Y6
	VXORPD       Y7, Y7, Y7
	VXORPD       Y8, Y8, Y8
	SHLQ         $4, R12
	ADDQ         R9, R12
	SHLQ         $4, R15
	ADDQ         R9, R15

block:
	XORL AX, AX   // answers for up to 64 places of the first row, from the highest bit on
	XORL R14, R14 // and of the second
	CMPQ R9, R12
	JAE  alone

word:
	MOVL       8(R9), R10
	MOVL       12(R9), CX
	MOVQ       (R8)(R10*8), R11
	PREFETCHT0 (DI)(R10*8)
	PREFETCHT0 (BX)(R10*8)
	MOVQ       (R13)(R10*8), R10
	PEXTQ      (R9), R11, R11
	PEXTQ      (R9), R10, R10
	SHLXQ      CX, R11, R11
	SHLXQ      CX, R10, R10
	ORQ        R11, AX
	ORQ        R10, R14
	ADDQ       $16, R9
	TESTL      CX, CX
	JZ         whole
	CMPQ       R9, R12
	JNE        word

	CMPQ R9, R15
	JAE  rest

single:
	MOVL       8(R9), R10
	MOVL       12(R9), CX
	PREFETCHT0 (BX)(R10*8)
	MOVQ       (R13)(R10*8), R10
	PEXTQ      (R9), R10, R10
	SHLXQ      CX, R10, R10
	ORQ        R10, R14
	ADDQ       $16, R9
	TESTL      CX, CX
	JZ         whole
	CMPQ       R9, R15
	JNE        single

rest:
	MOVQ AX, R10
	ORQ  R14, R10
	JZ   done
	MOVL $71, R10
	SUBL CX, R10
	SHRL $3, R10
	SPREAD

last:
	CLOSE(0, Y5, Y7)
	CLOSE(32, Y6, Y8)
	ADDQ $64, DX
	ADDQ $64, SI
	DECL R10
	JNZ  last
	JMP  done

alone:
	CMPQ R9, R15
	JB   single
	JMP  done

whole:
	SPREAD
	CLOSE(0, Y5, Y7)
	CLOSE(32, Y6, Y8)
	CLOSE(64, Y5, Y7)
	CLOSE(96, Y6, Y8)
	CLOSE(128, Y5, Y7)
	CLOSE(160, Y6, Y8)
	CLOSE(192, Y5, Y7)
	CLOSE(224, Y6, Y8)
	CLOSE(256, Y5, Y7)
	CLOSE(288, Y6, Y8)
	CLOSE(320, Y5, Y7)
	CLOSE(352, Y6, Y8)
	CLOSE(384, Y5, Y7)
	CLOSE(416, Y6, Y8)
	CLOSE(448, Y5, Y7)
	CLOSE(480, Y6, Y8)
	ADDQ $512, DX
	ADDQ $512, SI
	JMP  block

done:
	SUM(Y5, Y6, X5, X0)
	SUM(Y7, Y8, X7, X0)
	VMOVSD X5, ofFirst+88(FP)
	VMOVSD X7, ofSecond+96(FP)
	VZEROUPPER
	RET

// func lookUpBlock(set *uint64, list *rank, count int, next *rank) uint64
TEXT ·lookUpBlock(SB), NOSPLIT, $0-40
	MOVQ       set+0(FP), R8
	MOVQ       list+8(FP), R9
	MOVQ       count+16(FP), R12
	MOVQ       next+24(FP), R10
	PREFETCHT0 (R10)
	PREFETCHT0 64(R10)
	PREFETCHT0 128(R10)
	PREFETCHT0 192(R10)
	XORL       AX, AX
	MOVQ       R12, BX
	SHRQ       $3, BX
	JZ         single

eight:
	PROBE(0)
	PROBE(4)
	PROBE(8)
	PROBE(12)
	PROBE(16)
	PROBE(20)
	PROBE(24)
	PROBE(28)
	ADDQ $32, R9
	DECQ BX
	JNZ  eight

single:
	MOVQ R12, BX
	ANDQ $7, BX
	JZ   looked

one:
	PROBE(0)
	ADDQ $4, R9
	DECQ BX
	JNZ  one

looked:
	MOVQ $64, CX
	SUBQ R12, CX
	SHLQ CX, AX
	MOVQ AX, ret+32(FP)
	RET

// func fetchRanks(list *rank, count int)
TEXT ·fetchRanks(SB), NOSPLIT, $0-16
	MOVQ       list+0(FP), AX
	LEAQ       256(AX), CX
	CMPQ       count+8(FP), $64
	CMOVQLE    AX, CX
	PREFETCHT0 (AX)
	PREFETCHT0 64(AX)
	PREFETCHT0 128(AX)
	PREFETCHT0 192(AX)
	PREFETCHT0 (CX)
	PREFETCHT0 64(CX)
	PREFETCHT0 128(CX)
	PREFETCHT0 192(CX)
	RET
