//go:build !purego

#include "textflag.h"

// ROW adds to a row of the tile its number in the current column of the left factor times the row of the panel.
#define ROW(from, low, high) \
	VBROADCASTSS (from)(R13*1), Y10; \
	VMULPS       Y8, Y10, Y11; \
	VADDPS       Y11, low, low; \
	VMULPS       Y9, Y10, Y12; \
	VADDPS       Y12, high, high

// func multiplyVectors(c *float32, stride uintptr, a *float32, row, column uintptr, k int, panel, start *float32)
TEXT ·multiplyVectors(SB), NOSPLIT, $0-64
	MOVQ    c+0(FP), DI
	MOVQ    stride+8(FP), BX
	MOVQ    a+16(FP), SI
	MOVQ    row+24(FP), R8
	MOVQ    column+32(FP), R9
	MOVQ    k+40(FP), CX
	MOVQ    panel+48(FP), DX
	MOVQ    start+56(FP), AX
	LEAQ    (SI)(R8*1), R10
	LEAQ    (SI)(R8*2), R11
	LEAQ    (R10)(R8*2), R12
	XORQ    R13, R13
	VMOVUPS (AX), Y0
	VMOVUPS 32(AX), Y1
	VMOVAPS Y0, Y2
	VMOVAPS Y1, Y3
	VMOVAPS Y0, Y4
	VMOVAPS Y1, Y5
	VMOVAPS Y0, Y6
	VMOVAPS Y1, Y7

loop:
	VMOVUPS (DX), Y8
	VMOVUPS 32(DX), Y9
	ROW(SI, Y0, Y1)
	ROW(R10, Y2, Y3)
	ROW(R11, Y4, Y5)
	ROW(R12, Y6, Y7)
	ADDQ    $64, DX
	ADDQ    R9, R13
	DECQ    CX
	JNZ     loop

	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	ADDQ    BX, DI
	VMOVUPS Y2, (DI)
	VMOVUPS Y3, 32(DI)
	ADDQ    BX, DI
	VMOVUPS Y4, (DI)
	VMOVUPS Y5, 32(DI)
	ADDQ    BX, DI
	VMOVUPS Y6, (DI)
	VMOVUPS Y7, 32(DI)
	VZEROUPPER
	RET
