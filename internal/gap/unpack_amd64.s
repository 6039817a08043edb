//go:build !purego

#include "textflag.h"

// Constants of the seven-bit groups: bytes are joined by pairs, pairs by pairs.
DATA ·low7<>+0(SB)/8, $0x7f7f7f7f7f7f7f7f
DATA ·low7<>+8(SB)/8, $0x7f7f7f7f7f7f7f7f
GLOBL ·low7<>(SB), RODATA|NOPTR, $16

DATA ·byteWeights<>+0(SB)/8, $0x8001800180018001
DATA ·byteWeights<>+8(SB)/8, $0x8001800180018001
GLOBL ·byteWeights<>(SB), RODATA|NOPTR, $16

DATA ·pairWeights<>+0(SB)/8, $0x4000000140000001
DATA ·pairWeights<>+8(SB)/8, $0x4000000140000001
GLOBL ·pairWeights<>(SB), RODATA|NOPTR, $16

// FOUR decodes up to four numbers that begin at byte BX of the input. R8 has the high bits of the bytes from there on;
// R9 and R10 are left with how many bytes and numbers they were.
#define FOUR \
	MOVBLZX R8, R11               \
	MOVQ    (SI)(BX*1), X0        \
	MOVBLZX (R13)(R11*2), R9      \
	MOVBLZX 1(R13)(R11*2), R10    \
	SHLQ    $4, R11               \
	PSHUFB  (R12)(R11*1), X0      \
	PAND    X5, X0                \
	MOVO    X6, X1                \
	PMADDUBSW X0, X1              \
	PMADDWL X7, X1                \
	PSUBL   X4, X1                \
	MOVOU   X1, (DI)(DX*4)        \
	ADDQ    R9, BX                \
	ADDQ    R10, DX

// func unpackWords(dst *uint32, n int, src *byte, size int, shuffles *[256][16]byte, steps *[256][2]uint8) (numbers, bytes int)
TEXT ·unpackWords(SB), NOSPLIT, $0-64
	MOVQ dst+0(FP), DI
	MOVQ n+8(FP), R14
	MOVQ src+16(FP), SI
	MOVQ size+24(FP), R15
	MOVQ shuffles+32(FP), R12
	MOVQ steps+40(FP), R13
	MOVOU ·low7<>(SB), X5
	MOVOU ·byteWeights<>(SB), X6
	MOVOU ·pairWeights<>(SB), X7
	PCMPEQL X4, X4 // −1 in every lane: taking it away adds one
	XORQ BX, BX
	XORQ DX, DX
	SUBQ $8, R14  // two stores of four numbers each
	SUBQ $16, R15

loop:
	CMPQ DX, R14
	JGT  done
	CMPQ BX, R15
	JGT  done
	MOVOU    (SI)(BX*1), X2
	PMOVMSKB X2, AX
	MOVL AX, R8
	FOUR
	TESTQ R9, R9
	JEQ  done // a number of more than four bytes
	MOVQ R9, CX
	SHRL CX, AX
	MOVL AX, R8
	FOUR
	JMP  loop

done:
	MOVQ DX, numbers+48(FP)
	MOVQ BX, bytes+56(FP)
	RET
