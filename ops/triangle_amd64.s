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

// CLOSE adds four places: the lanes of Y0 with their sign set are those in the set.
#define CLOSE(offset, sum) \
	VBLENDVPD Y0, offset(DX), Y4, Y1; \
	VBLENDVPD Y0, Y7, Y4, Y2; \
	VADDPD    Y1, sum, sum; \
	VADDPD    offset(SI), Y2, Y2; \
	VMOVUPD   Y2, offset(SI); \
	VPSLLQ    $4, Y0, Y0

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

// func closeWords(sums *[closingLanes]float64, acc, delta *float64, row *uint64, words *mapWord, count int, at float64, next *uint64)
TEXT ·closeWords(SB), NOSPLIT, $0-64
	MOVQ         next+56(FP), DI
	MOVQ         acc+8(FP), SI
	MOVQ         delta+16(FP), DX
	MOVQ         row+24(FP), R8
	MOVQ         words+32(FP), R9
	MOVQ         count+40(FP), R12
	VBROADCASTSD at+48(FP), Y7
	VMOVDQU      laneShifts<>(SB), Y3
	VXORPD       Y4, Y4, Y4
	VXORPD       Y5, Y5, Y5
	VXORPD       Y6, Y6, Y6
	XORL         AX, AX  // answers for up to 64 places, from the highest bit on
	MOVL         $64, CX // less those of places that are known

word:
	MOVL  8(R9), R10
	MOVQ  (R8)(R10*8), R11
	PREFETCHT0 (DI)(R10*8)
	PEXTQ (R9), R11, R11
	SUBL  12(R9), CX
	JLE   whole
	SHLXQ CX, R11, R11
	ORQ   R11, AX
	ADDQ  $16, R9
	DECQ  R12
	JNZ   word

rest:
	TESTQ AX, AX
	JZ    done
	MOVL  $71, BX
	SUBL  CX, BX
	SHRL  $3, BX
	VMOVQ        AX, X0
	VPBROADCASTQ X0, Y0
	VPSLLVQ      Y3, Y0, Y0

last:
	CLOSE(0, Y5)
	CLOSE(32, Y6)
	ADDQ $64, DX
	ADDQ $64, SI
	DECL BX
	JNZ  last
	JMP  done

whole:
	MOVL  CX, BX
	NEGL  BX
	SHRXQ BX, R11, R10
	ORQ   R10, AX
	JZ    none
	VMOVQ        AX, X0
	VPBROADCASTQ X0, Y0
	VPSLLVQ      Y3, Y0, Y0
	CLOSE(0, Y5)
	CLOSE(32, Y6)
	CLOSE(64, Y5)
	CLOSE(96, Y6)
	CLOSE(128, Y5)
	CLOSE(160, Y6)
	CLOSE(192, Y5)
	CLOSE(224, Y6)
	CLOSE(256, Y5)
	CLOSE(288, Y6)
	CLOSE(320, Y5)
	CLOSE(352, Y6)
	CLOSE(384, Y5)
	CLOSE(416, Y6)
	CLOSE(448, Y5)
	CLOSE(480, Y6)

none:
	ADDQ $512, DX
	ADDQ $512, SI
	XORL AX, AX
	TESTL CX, CX
	JZ    begun
	SHLXQ CX, R11, AX // what of the word belongs to the next 64 places

begun:
	ADDL $64, CX
	ADDQ $16, R9
	DECQ R12
	JNZ  word
	JMP  rest

done:
	MOVQ    sums+0(FP), DI
	VMOVUPD Y5, (DI)
	VMOVUPD Y6, 32(DI)
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
