//go:build !purego

#include "textflag.h"

// WIDE adds to a row of the tile its number in a column of the left factor times a row of the panel.
#define WIDE(number, left, right, low, high) \
	VBROADCASTSS number, Y10; \
	VMULPS       left, Y10, Y11; \
	VADDPS       Y11, low, low; \
	VMULPS       right, Y10, Y12; \
	VADDPS       Y12, high, high

// WIDES does so for all rows, and goes on to the next column.
#define WIDES(left, right) \
	WIDE((SI), left, right, Y0, Y1); \
	WIDE((SI)(R8*1), left, right, Y2, Y3); \
	WIDE((SI)(R8*2), left, right, Y4, Y5); \
	WIDE((SI)(R11*1), left, right, Y6, Y7); \
	ADDQ R9, SI

// func multiplyTilesVectors(c *float32, stride uintptr, a *float32, row, column uintptr, k int, panel, start *float32, apart uintptr, tiles int)
TEXT ·multiplyTilesVectors(SB), NOSPLIT, $0-80
	MOVQ c+0(FP), DI
	MOVQ stride+8(FP), BX
	MOVQ a+16(FP), R15
	MOVQ row+24(FP), R8
	MOVQ column+32(FP), R9
	MOVQ start+56(FP), AX
	MOVQ apart+64(FP), R10
	MOVQ tiles+72(FP), R13
	LEAQ (R8)(R8*2), R11
	LEAQ (R10)(R10*2), R12

tile:
	MOVQ    k+40(FP), CX
	MOVQ    panel+48(FP), DX
	MOVQ    R15, SI
	VMOVUPS (AX), Y0
	VMOVUPS 32(AX), Y1
	VMOVUPS (AX)(R10*1), Y2
	VMOVUPS 32(AX)(R10*1), Y3
	VMOVUPS (AX)(R10*2), Y4
	VMOVUPS 32(AX)(R10*2), Y5
	VMOVUPS (AX)(R12*1), Y6
	VMOVUPS 32(AX)(R12*1), Y7
	LEAQ    (AX)(R10*4), AX
	TESTQ   $1, CX
	JZ      even
	VMOVUPS (DX), Y8
	VMOVUPS 32(DX), Y9
	ADDQ    $64, DX
	WIDES(Y8, Y9)

even:
	SHRQ $1, CX
	JZ   done

	PCALIGN $32
loop:
	VMOVUPS (DX), Y8
	VMOVUPS 32(DX), Y9
	VMOVUPS 64(DX), Y14
	VMOVUPS 96(DX), Y15
	WIDES(Y8, Y9)
	WIDES(Y14, Y15)
	SUBQ    $-128, DX
	DECQ    CX
	JNZ     loop

done:
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
	ADDQ    BX, DI
	LEAQ    (R15)(R8*4), R15
	DECQ    R13
	JNZ     tile
	VZEROUPPER
	RET
