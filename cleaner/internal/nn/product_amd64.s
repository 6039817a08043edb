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

// func multiplyWideVectors(c *float32, stride uintptr, a *float32, row, column uintptr, k int, panel, start *float32, apart uintptr, tiles int)
TEXT ·multiplyWideVectors(SB), NOSPLIT, $0-80
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

// GROUP adds to a row its number in a column of the left factor times a row of the panel.
#define GROUP(number, sums, product) \
	VMULPS.BCST number, Z16, product; \
	VADDPS      product, sums, sums

// func multiplyGroupVectors(c *float32, stride uintptr, a *float32, row, column uintptr, k int, panel, start *float32, apart uintptr)
TEXT ·multiplyGroupVectors(SB), NOSPLIT, $0-72
	MOVQ c+0(FP), DI
	MOVQ stride+8(FP), BX
	MOVQ a+16(FP), SI
	MOVQ row+24(FP), R8
	MOVQ column+32(FP), R9
	MOVQ k+40(FP), CX
	MOVQ panel+48(FP), DX
	MOVQ start+56(FP), AX
	MOVQ apart+64(FP), R10
	LEAQ (R8)(R8*2), R11
	LEAQ (SI)(R11*1), R13  // the fourth row
	LEAQ (SI)(R8*8), R14   // the ninth
	LEAQ (R14)(R11*1), R12 // the twelfth
	VMOVUPS (AX), Z0
	ADDQ R10, AX
	VMOVUPS (AX), Z1
	ADDQ R10, AX
	VMOVUPS (AX), Z2
	ADDQ R10, AX
	VMOVUPS (AX), Z3
	ADDQ R10, AX
	VMOVUPS (AX), Z4
	ADDQ R10, AX
	VMOVUPS (AX), Z5
	ADDQ R10, AX
	VMOVUPS (AX), Z6
	ADDQ R10, AX
	VMOVUPS (AX), Z7
	ADDQ R10, AX
	VMOVUPS (AX), Z8
	ADDQ R10, AX
	VMOVUPS (AX), Z9
	ADDQ R10, AX
	VMOVUPS (AX), Z10
	ADDQ R10, AX
	VMOVUPS (AX), Z11
	ADDQ R10, AX
	VMOVUPS (AX), Z12
	ADDQ R10, AX
	VMOVUPS (AX), Z13
	ADDQ R10, AX
	VMOVUPS (AX), Z14
	ADDQ R10, AX
	VMOVUPS (AX), Z15

	PCALIGN $64
loop:
	VMOVUPS (DX), Z16
	GROUP((SI), Z0, Z17)
	GROUP((SI)(R8*1), Z1, Z18)
	GROUP((SI)(R8*2), Z2, Z19)
	GROUP((R13), Z3, Z20)
	GROUP((SI)(R8*4), Z4, Z21)
	GROUP((R13)(R8*2), Z5, Z22)
	GROUP((R13)(R11*1), Z6, Z23)
	GROUP((R13)(R8*4), Z7, Z24)
	GROUP((R14), Z8, Z25)
	GROUP((R14)(R8*1), Z9, Z26)
	GROUP((R14)(R8*2), Z10, Z27)
	GROUP((R12), Z11, Z28)
	GROUP((R14)(R8*4), Z12, Z29)
	GROUP((R12)(R8*2), Z13, Z30)
	GROUP((R12)(R11*1), Z14, Z31)
	GROUP((R12)(R8*4), Z15, Z17)
	ADDQ $64, DX
	ADDQ R9, SI
	ADDQ R9, R13
	ADDQ R9, R14
	ADDQ R9, R12
	DECQ CX
	JNZ loop

	VMOVUPS Z0, (DI)
	ADDQ BX, DI
	VMOVUPS Z1, (DI)
	ADDQ BX, DI
	VMOVUPS Z2, (DI)
	ADDQ BX, DI
	VMOVUPS Z3, (DI)
	ADDQ BX, DI
	VMOVUPS Z4, (DI)
	ADDQ BX, DI
	VMOVUPS Z5, (DI)
	ADDQ BX, DI
	VMOVUPS Z6, (DI)
	ADDQ BX, DI
	VMOVUPS Z7, (DI)
	ADDQ BX, DI
	VMOVUPS Z8, (DI)
	ADDQ BX, DI
	VMOVUPS Z9, (DI)
	ADDQ BX, DI
	VMOVUPS Z10, (DI)
	ADDQ BX, DI
	VMOVUPS Z11, (DI)
	ADDQ BX, DI
	VMOVUPS Z12, (DI)
	ADDQ BX, DI
	VMOVUPS Z13, (DI)
	ADDQ BX, DI
	VMOVUPS Z14, (DI)
	ADDQ BX, DI
	VMOVUPS Z15, (DI)
	VZEROUPPER
	RET

#define NARROW(number, sums, times, product) \
	VBROADCASTSS number, times; \
	VMULPS       Y8, times, product; \
	VADDPS       product, sums, sums

// func multiplyNarrowVectors(c *float32, stride uintptr, a *float32, row, column uintptr, k int, panel, start *float32, apart uintptr, tiles int)
TEXT ·multiplyNarrowVectors(SB), NOSPLIT, $0-80
	MOVQ c+0(FP), DI
	MOVQ stride+8(FP), BX
	MOVQ a+16(FP), R15
	MOVQ row+24(FP), R8
	MOVQ column+32(FP), R9
	MOVQ start+56(FP), AX
	MOVQ apart+64(FP), R10
	MOVQ tiles+72(FP), R12
	LEAQ (R8)(R8*2), R11

tile:
	MOVQ    k+40(FP), CX
	MOVQ    panel+48(FP), DX
	MOVQ    R15, SI
	LEAQ    (SI)(R11*1), R13 // the fourth row
	VMOVUPS (AX), Y0
	ADDQ    R10, AX
	VMOVUPS (AX), Y1
	ADDQ    R10, AX
	VMOVUPS (AX), Y2
	ADDQ    R10, AX
	VMOVUPS (AX), Y3
	ADDQ    R10, AX
	VMOVUPS (AX), Y4
	ADDQ    R10, AX
	VMOVUPS (AX), Y5
	ADDQ    R10, AX
	VMOVUPS (AX), Y6
	ADDQ    R10, AX
	VMOVUPS (AX), Y7
	ADDQ    R10, AX

loop:
	VMOVUPS (DX), Y8
	NARROW((SI), Y0, Y10, Y11)
	NARROW((SI)(R8*1), Y1, Y12, Y13)
	NARROW((SI)(R8*2), Y2, Y14, Y15)
	NARROW((R13), Y3, Y10, Y11)
	NARROW((SI)(R8*4), Y4, Y12, Y13)
	NARROW((R13)(R8*2), Y5, Y14, Y15)
	NARROW((R13)(R11*1), Y6, Y10, Y11)
	NARROW((R13)(R8*4), Y7, Y12, Y13)
	ADDQ    $32, DX
	ADDQ    R9, SI
	ADDQ    R9, R13
	DECQ    CX
	JNZ     loop

	VMOVUPS Y0, (DI)
	ADDQ    BX, DI
	VMOVUPS Y1, (DI)
	ADDQ    BX, DI
	VMOVUPS Y2, (DI)
	ADDQ    BX, DI
	VMOVUPS Y3, (DI)
	ADDQ    BX, DI
	VMOVUPS Y4, (DI)
	ADDQ    BX, DI
	VMOVUPS Y5, (DI)
	ADDQ    BX, DI
	VMOVUPS Y6, (DI)
	ADDQ    BX, DI
	VMOVUPS Y7, (DI)
	ADDQ    BX, DI
	LEAQ    (R15)(R8*8), R15
	DECQ    R12
	JNZ     tile
	VZEROUPPER
	RET

// func copyVectors(to, from *float32, stride uintptr, pieces int)
TEXT ·copyVectors(SB), NOSPLIT, $0-32
	MOVQ to+0(FP), DI
	MOVQ from+8(FP), SI
	MOVQ stride+16(FP), R8
	MOVQ pieces+24(FP), CX

loop:
	VMOVUPS (SI), Y0
	VMOVUPS 32(SI), Y1
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	ADDQ    R8, SI
	ADDQ    $64, DI
	DECQ    CX
	JNZ     loop
	VZEROUPPER
	RET

// func fetchLines(from *float32, rows *uint32, count int, bytes uintptr)
TEXT ·fetchLines(SB), NOSPLIT, $0-32
	MOVQ from+0(FP), SI
	MOVQ rows+8(FP), DI
	MOVQ count+16(FP), CX
	MOVQ bytes+24(FP), R8

row:
	MOVL  (DI), AX
	ADDQ  $4, DI
	IMULQ R8, AX
	ADDQ  SI, AX
	LEAQ  -1(AX)(R8*1), DX     // the last byte

line:
	PREFETCHT0 (AX)
	ADDQ       $64, AX
	CMPQ       AX, DX
	JLT        line
	PREFETCHT0 (DX)
	DECQ       CX
	JNZ        row
	RET
