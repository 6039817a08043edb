//go:build !purego

#include "textflag.h"

// func multiplyStripVectors(c, start, b *float32, stride uintptr, starts, ends *int, rows int, columns *uint32, values *float32, apart uintptr)
TEXT ·multiplyStripVectors(SB), NOSPLIT, $0-80
	MOVQ c+0(FP), DI
	MOVQ start+8(FP), R15
	MOVQ b+16(FP), R8
	MOVQ stride+24(FP), R9
	MOVQ starts+32(FP), R10
	MOVQ ends+40(FP), R11
	MOVQ rows+48(FP), R12
	MOVQ columns+56(FP), R13
	MOVQ values+64(FP), BX

row:
	MOVQ    (R10), CX
	MOVQ    (R11), AX
	ADDQ    $8, R10
	ADDQ    $8, R11
	LEAQ    (R13)(AX*4), SI
	LEAQ    (BX)(AX*4), DX
	VMOVUPS (R15), Y0
	VMOVUPS 32(R15), Y1
	VMOVUPS 64(R15), Y2
	VMOVUPS 96(R15), Y3
	VMOVUPS 128(R15), Y4
	VMOVUPS 160(R15), Y5
	VMOVUPS 192(R15), Y6
	VMOVUPS 224(R15), Y7
	ADDQ    apart+72(FP), R15
	SUBQ    AX, CX             // less than zero by the numbers of the row
	JZ      done

loop:
	MOVL         (SI)(CX*4), AX
	IMULQ        R9, AX
	VBROADCASTSS (DX)(CX*4), Y8
	ADDQ         R8, AX
	VMULPS       (AX), Y8, Y9
	VADDPS       Y9, Y0, Y0
	VMULPS       32(AX), Y8, Y10
	VADDPS       Y10, Y1, Y1
	VMULPS       64(AX), Y8, Y11
	VADDPS       Y11, Y2, Y2
	VMULPS       96(AX), Y8, Y12
	VADDPS       Y12, Y3, Y3
	VMULPS       128(AX), Y8, Y13
	VADDPS       Y13, Y4, Y4
	VMULPS       160(AX), Y8, Y14
	VADDPS       Y14, Y5, Y5
	VMULPS       192(AX), Y8, Y15
	VADDPS       Y15, Y6, Y6
	VMULPS       224(AX), Y8, Y9
	VADDPS       Y9, Y7, Y7
	INCQ         CX
	JNZ          loop

done:
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	VMOVUPS Y2, 64(DI)
	VMOVUPS Y3, 96(DI)
	VMOVUPS Y4, 128(DI)
	VMOVUPS Y5, 160(DI)
	VMOVUPS Y6, 192(DI)
	VMOVUPS Y7, 224(DI)
	ADDQ    R9, DI
	DECQ    R12
	JNZ     row
	VZEROUPPER
	RET

// func multiplyStripVectors512(c, start, b *float32, stride uintptr, starts, ends *int, rows int, columns *uint32, values *float32, apart uintptr)
TEXT ·multiplyStripVectors512(SB), NOSPLIT, $0-80
	MOVQ c+0(FP), DI
	MOVQ start+8(FP), R15
	MOVQ b+16(FP), R8
	MOVQ stride+24(FP), R9
	MOVQ starts+32(FP), R10
	MOVQ ends+40(FP), R11
	MOVQ rows+48(FP), R12
	MOVQ columns+56(FP), R13
	MOVQ values+64(FP), BX

row:
	MOVQ    (R10), CX
	MOVQ    (R11), AX
	ADDQ    $8, R10
	ADDQ    $8, R11
	LEAQ    (R13)(AX*4), SI
	LEAQ    (BX)(AX*4), DX
	VMOVUPS (R15), Z0
	VMOVUPS 64(R15), Z1
	VMOVUPS 128(R15), Z2
	VMOVUPS 192(R15), Z3
	ADDQ    apart+72(FP), R15
	SUBQ    AX, CX             // less than zero by the numbers of the row
	JZ      done

loop:
	MOVL         (SI)(CX*4), AX
	IMULQ        R9, AX
	VBROADCASTSS (DX)(CX*4), Z4
	ADDQ         R8, AX
	VMULPS       (AX), Z4, Z5
	VADDPS       Z5, Z0, Z0
	VMULPS       64(AX), Z4, Z6
	VADDPS       Z6, Z1, Z1
	VMULPS       128(AX), Z4, Z7
	VADDPS       Z7, Z2, Z2
	VMULPS       192(AX), Z4, Z8
	VADDPS       Z8, Z3, Z3
	INCQ         CX
	JNZ          loop

done:
	VMOVUPS Z0, (DI)
	VMOVUPS Z1, 64(DI)
	VMOVUPS Z2, 128(DI)
	VMOVUPS Z3, 192(DI)
	ADDQ    R9, DI
	DECQ    R12
	JNZ     row
	VZEROUPPER
	RET

// func addToHalfStripVectors(c *float32, columns *uint32, values *float32, count int, row *float32, stride uintptr)
TEXT ·addToHalfStripVectors(SB), NOSPLIT, $0-48
	MOVQ    c+0(FP), DI
	MOVQ    columns+8(FP), SI
	MOVQ    values+16(FP), DX
	MOVQ    count+24(FP), CX
	MOVQ    row+32(FP), R8
	MOVQ    stride+40(FP), R9
	VMOVUPS (R8), Y0
	VMOVUPS 32(R8), Y1
	VMOVUPS 64(R8), Y2
	VMOVUPS 96(R8), Y3

loop:
	MOVL         (SI), AX
	IMULQ        R9, AX
	VBROADCASTSS (DX), Y4
	VMULPS       Y4, Y0, Y5
	VMULPS       Y4, Y1, Y6
	VMULPS       Y4, Y2, Y7
	VMULPS       Y4, Y3, Y8
	VADDPS       (DI)(AX*1), Y5, Y5
	VADDPS       32(DI)(AX*1), Y6, Y6
	VADDPS       64(DI)(AX*1), Y7, Y7
	VADDPS       96(DI)(AX*1), Y8, Y8
	VMOVUPS      Y5, (DI)(AX*1)
	VMOVUPS      Y6, 32(DI)(AX*1)
	VMOVUPS      Y7, 64(DI)(AX*1)
	VMOVUPS      Y8, 96(DI)(AX*1)
	ADDQ         $4, SI
	ADDQ         $4, DX
	DECQ         CX
	JNZ          loop

	VZEROUPPER
	RET

// func addToStripVectors(c *float32, columns *uint32, values *float32, count int, row *float32, stride uintptr)
TEXT ·addToStripVectors(SB), NOSPLIT, $0-48
	MOVQ    c+0(FP), DI
	MOVQ    columns+8(FP), SI
	MOVQ    values+16(FP), DX
	MOVQ    count+24(FP), CX
	MOVQ    row+32(FP), R8
	MOVQ    stride+40(FP), R9
	VMOVUPS (R8), Y0
	VMOVUPS 32(R8), Y1
	VMOVUPS 64(R8), Y2
	VMOVUPS 96(R8), Y3
	VMOVUPS 128(R8), Y4
	VMOVUPS 160(R8), Y5
	VMOVUPS 192(R8), Y6
	VMOVUPS 224(R8), Y7
	LEAQ    (SI)(CX*4), SI
	LEAQ    (DX)(CX*4), DX
	NEGQ    CX

loop:
	MOVL         (SI)(CX*4), AX
	IMULQ        R9, AX
	VBROADCASTSS (DX)(CX*4), Y8
	ADDQ         DI, AX
	VMULPS       Y8, Y0, Y9
	VADDPS       (AX), Y9, Y9
	VMOVUPS      Y9, (AX)
	VMULPS       Y8, Y1, Y10
	VADDPS       32(AX), Y10, Y10
	VMOVUPS      Y10, 32(AX)
	VMULPS       Y8, Y2, Y11
	VADDPS       64(AX), Y11, Y11
	VMOVUPS      Y11, 64(AX)
	VMULPS       Y8, Y3, Y12
	VADDPS       96(AX), Y12, Y12
	VMOVUPS      Y12, 96(AX)
	VMULPS       Y8, Y4, Y13
	VADDPS       128(AX), Y13, Y13
	VMOVUPS      Y13, 128(AX)
	VMULPS       Y8, Y5, Y14
	VADDPS       160(AX), Y14, Y14
	VMOVUPS      Y14, 160(AX)
	VMULPS       Y8, Y6, Y15
	VADDPS       192(AX), Y15, Y15
	VMOVUPS      Y15, 192(AX)
	VMULPS       Y8, Y7, Y9
	VADDPS       224(AX), Y9, Y9
	VMOVUPS      Y9, 224(AX)
	INCQ         CX
	JNZ          loop

	VZEROUPPER
	RET

// func adamVectors(p, mean, square, gradient *float32, groups int, step *adamStep)
TEXT ·adamVectors(SB), NOSPLIT, $0-48
	MOVQ         p+0(FP), DI
	MOVQ         mean+8(FP), SI
	MOVQ         square+16(FP), DX
	MOVQ         gradient+24(FP), R8
	MOVQ         groups+32(FP), CX
	MOVQ         step+40(FP), AX
	VBROADCASTSS 0(AX), Y8   // beta1
	VBROADCASTSS 4(AX), Y9   // rest1
	VBROADCASTSS 8(AX), Y10  // beta2
	VBROADCASTSS 12(AX), Y11 // rest2
	VBROADCASTSS 16(AX), Y12 // rate
	VBROADCASTSS 20(AX), Y13 // shrink
	VBROADCASTSS 24(AX), Y14 // epsilon
	XORQ         BX, BX

loop:
	VMOVUPS (R8)(BX*1), Y0
	VMULPS  (SI)(BX*1), Y8, Y1
	VMULPS  Y9, Y0, Y2
	VADDPS  Y2, Y1, Y1         // mean
	VMOVUPS Y1, (SI)(BX*1)
	VMULPS  (DX)(BX*1), Y10, Y3
	VMULPS  Y11, Y0, Y4
	VMULPS  Y0, Y4, Y4
	VADDPS  Y4, Y3, Y3         // square
	VMOVUPS Y3, (DX)(BX*1)
	VSQRTPS Y3, Y3
	VADDPS  Y14, Y3, Y3
	VMULPS  Y12, Y1, Y1
	VDIVPS  Y3, Y1, Y1
	VMULPS  (DI)(BX*1), Y13, Y4
	VSUBPS  Y1, Y4, Y4
	VMOVUPS Y4, (DI)(BX*1)
	ADDQ    $32, BX
	DECQ    CX
	JNZ     loop

	VZEROUPPER
	RET

// func dropVectors(values, factors *float32, random *byte, groups int, bound uint32, scale float32)
TEXT ·dropVectors(SB), NOSPLIT, $0-40
	MOVQ         values+0(FP), DI
	MOVQ         factors+8(FP), SI
	MOVQ         random+16(FP), DX
	MOVQ         groups+24(FP), CX
	MOVL         bound+32(FP), AX
	VMOVD        AX, X1
	VPBROADCASTD X1, Y1
	VBROADCASTSS scale+36(FP), Y2
	TESTQ        SI, SI
	JZ           alone

both:
	VPMOVZXBD (DX), Y0
	VPCMPGTD  Y0, Y1, Y0       // bound > byte
	VPANDN    Y2, Y0, Y0
	VMOVUPS   Y0, (SI)
	VMULPS    (DI), Y0, Y0
	VMOVUPS   Y0, (DI)
	ADDQ      $8, DX
	ADDQ      $32, SI
	ADDQ      $32, DI
	DECQ      CX
	JNZ       both
	VZEROUPPER
	RET

alone:
	VPMOVZXBD (DX), Y0
	VPCMPGTD  Y0, Y1, Y0
	VPANDN    Y2, Y0, Y0
	VMULPS    (DI), Y0, Y0
	VMOVUPS   Y0, (DI)
	ADDQ      $8, DX
	ADDQ      $32, DI
	DECQ      CX
	JNZ       alone
	VZEROUPPER
	RET

// func reluVectors(h *float32, groups int)
TEXT ·reluVectors(SB), NOSPLIT, $0-16
	MOVQ   h+0(FP), DI
	MOVQ   groups+8(FP), CX
	VXORPS Y0, Y0, Y0

loop:
	VMAXPS  (DI), Y0, Y1       // NaN stays
	VADDPS  Y0, Y1, Y1         // -0 becomes 0
	VMOVUPS Y1, (DI)
	ADDQ    $32, DI
	DECQ    CX
	JNZ     loop
	VZEROUPPER
	RET

// func maskVectors(down, scale, h *float32, groups int)
TEXT ·maskVectors(SB), NOSPLIT, $0-32
	MOVQ  down+0(FP), DI
	MOVQ  scale+8(FP), SI
	MOVQ  h+16(FP), DX
	MOVQ  groups+24(FP), CX
	VPXOR Y1, Y1, Y1
	TESTQ SI, SI
	JZ    alone

both:
	VMOVUPS  (DX), Y0
	VPCMPGTD Y1, Y0, Y0        // h > 0
	VMOVUPS  (DI), Y2
	VMULPS   (SI), Y2, Y2
	VANDPS   Y0, Y2, Y2
	VMOVUPS  Y2, (DI)
	ADDQ     $32, DX
	ADDQ     $32, SI
	ADDQ     $32, DI
	DECQ     CX
	JNZ      both
	VZEROUPPER
	RET

alone:
	VMOVUPS  (DX), Y0
	VPCMPGTD Y1, Y0, Y0
	VANDPS   (DI), Y0, Y2
	VMOVUPS  Y2, (DI)
	ADDQ     $32, DX
	ADDQ     $32, DI
	DECQ     CX
	JNZ      alone
	VZEROUPPER
	RET

// func subtractLargestVectors(values *float32, rows, width int)
TEXT ·subtractLargestVectors(SB), NOSPLIT, $0-24
	MOVQ values+0(FP), SI
	MOVQ rows+8(FP), CX
	MOVQ width+16(FP), R8
	MOVQ R8, R9
	SHRQ $3, R8                // groups of eight
	ANDQ $7, R9                // numbers behind them

row:
	MOVQ    SI, DI
	VMOVUPS (DI), Y0
	ADDQ    $32, DI
	MOVQ    R8, AX
	DECQ    AX
	JZ      reduce

most:
	VMAXPS (DI), Y0, Y0
	ADDQ   $32, DI
	DECQ   AX
	JNZ    most

reduce:
	VEXTRACTF128 $1, Y0, X1
	VMAXPS       X1, X0, X0
	VPERMILPS    $0x4E, X0, X1
	VMAXPS       X1, X0, X0
	VPERMILPS    $0xB1, X0, X1
	VMAXPS       X1, X0, X0
	MOVQ         R9, AX
	TESTQ        AX, AX
	JZ           found

mostBehind:
	VMAXSS (DI), X0, X0
	ADDQ   $4, DI
	DECQ   AX
	JNZ    mostBehind

found:
	VBROADCASTSS X0, Y0
	MOVQ         R8, AX

less:
	VMOVUPS (SI), Y1
	VSUBPS  Y0, Y1, Y1
	VMOVUPS Y1, (SI)
	ADDQ    $32, SI
	DECQ    AX
	JNZ     less
	MOVQ    R9, AX
	TESTQ   AX, AX
	JZ      next

lessBehind:
	VMOVSS (SI), X1
	VSUBSS X0, X1, X1
	VMOVSS X1, (SI)
	ADDQ   $4, SI
	DECQ   AX
	JNZ    lessBehind

next:
	DECQ CX
	JNZ  row
	VZEROUPPER
	RET

// func widenVectors(widened *float64, values *float32, groups int)
TEXT ·widenVectors(SB), NOSPLIT, $0-24
	MOVQ widened+0(FP), DI
	MOVQ values+8(FP), SI
	MOVQ groups+16(FP), CX

loop:
	VCVTPS2PD (SI), Y0
	VCVTPS2PD 16(SI), Y1
	VMOVUPD   Y0, (DI)
	VMOVUPD   Y1, 32(DI)
	ADDQ      $32, SI
	ADDQ      $64, DI
	DECQ      CX
	JNZ       loop
	VZEROUPPER
	RET

// func sumColumnsVectors(sums, rows *float32, groups, count int, stride uintptr)
TEXT ·sumColumnsVectors(SB), NOSPLIT, $0-40
	MOVQ sums+0(FP), DI
	MOVQ rows+8(FP), SI
	MOVQ groups+16(FP), AX
	MOVQ stride+32(FP), R8

fours:                         // groups, while there are so many
	CMPQ    AX, $4
	JLT     ones
	MOVQ    count+24(FP), CX
	MOVQ    SI, DX
	VMOVUPS (DI), Y0
	VMOVUPS 32(DI), Y1
	VMOVUPS 64(DI), Y2
	VMOVUPS 96(DI), Y3

four:
	VADDPS (DX), Y0, Y0
	VADDPS 32(DX), Y1, Y1
	VADDPS 64(DX), Y2, Y2
	VADDPS 96(DX), Y3, Y3
	ADDQ   R8, DX
	DECQ   CX
	JNZ    four

	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	VMOVUPS Y2, 64(DI)
	VMOVUPS Y3, 96(DI)
	ADDQ    $128, DI
	ADDQ    $128, SI
	SUBQ    $4, AX
	JMP     fours

ones:
	TESTQ   AX, AX
	JZ      done
	MOVQ    count+24(FP), CX
	MOVQ    SI, DX
	VMOVUPS (DI), Y0

one:
	VADDPS (DX), Y0, Y0
	ADDQ   R8, DX
	DECQ   CX
	JNZ    one

	VMOVUPS Y0, (DI)
	ADDQ    $32, DI
	ADDQ    $32, SI
	DECQ    AX
	JMP     ones

done:
	VZEROUPPER
	RET

// func roundVectors(rounded *float32, values *float64, groups int)
TEXT ·roundVectors(SB), NOSPLIT, $0-24
	MOVQ rounded+0(FP), DI
	MOVQ values+8(FP), SI
	MOVQ groups+16(FP), CX

loop:
	VCVTPD2PSY (SI), X0
	VCVTPD2PSY 32(SI), X1
	VMOVUPS    X0, (DI)
	VMOVUPS    X1, 16(DI)
	ADDQ       $64, SI
	ADDQ       $32, DI
	DECQ       CX
	JNZ        loop
	VZEROUPPER
	RET

// func divideVectors(values *float32, groups int, by float64)
TEXT ·divideVectors(SB), NOSPLIT, $0-24
	MOVQ         values+0(FP), DI
	MOVQ         groups+8(FP), CX
	VBROADCASTSD by+16(FP), Y2

loop:
	VCVTPS2PD  (DI), Y0
	VCVTPS2PD  16(DI), Y1
	VDIVPD     Y2, Y0, Y0
	VDIVPD     Y2, Y1, Y1
	VCVTPD2PSY Y0, X0
	VCVTPD2PSY Y1, X1
	VMOVUPS    X0, (DI)
	VMOVUPS    X1, 16(DI)
	ADDQ       $32, DI
	DECQ       CX
	JNZ        loop
	VZEROUPPER
	RET

// func transposeVectors(to *float32, stride uintptr, from *float32, apart uintptr, groups int)
TEXT ·transposeVectors(SB), NOSPLIT, $0-40
	MOVQ to+0(FP), DI
	MOVQ stride+8(FP), R8
	MOVQ from+16(FP), SI
	MOVQ apart+24(FP), R9
	MOVQ groups+32(FP), CX
	LEAQ (R8)(R8*2), R10
	LEAQ (R9)(R9*2), R11

loop:
	LEAQ        (SI)(R9*4), DX // the fifth row
	LEAQ        (DI)(R8*4), BX
	VMOVUPS     (SI), X0
	VMOVUPS     (SI)(R9*1), X1
	VMOVUPS     (SI)(R9*2), X2
	VMOVUPS     (SI)(R11*1), X3
	VMOVUPS     16(SI), X4
	VMOVUPS     16(SI)(R9*1), X5
	VMOVUPS     16(SI)(R9*2), X6
	VMOVUPS     16(SI)(R11*1), X7
	VINSERTF128 $1, (DX), Y0, Y0
	VINSERTF128 $1, (DX)(R9*1), Y1, Y1
	VINSERTF128 $1, (DX)(R9*2), Y2, Y2
	VINSERTF128 $1, (DX)(R11*1), Y3, Y3
	VINSERTF128 $1, 16(DX), Y4, Y4
	VINSERTF128 $1, 16(DX)(R9*1), Y5, Y5
	VINSERTF128 $1, 16(DX)(R9*2), Y6, Y6
	VINSERTF128 $1, 16(DX)(R11*1), Y7, Y7
	VUNPCKLPS   Y1, Y0, Y8
	VUNPCKHPS   Y1, Y0, Y9
	VUNPCKLPS   Y3, Y2, Y10
	VUNPCKHPS   Y3, Y2, Y11
	VUNPCKLPS   Y5, Y4, Y12
	VUNPCKHPS   Y5, Y4, Y13
	VUNPCKLPS   Y7, Y6, Y14
	VUNPCKHPS   Y7, Y6, Y15
	VSHUFPS     $0x44, Y10, Y8, Y0
	VSHUFPS     $0xEE, Y10, Y8, Y1
	VSHUFPS     $0x44, Y11, Y9, Y2
	VSHUFPS     $0xEE, Y11, Y9, Y3
	VSHUFPS     $0x44, Y14, Y12, Y4
	VSHUFPS     $0xEE, Y14, Y12, Y5
	VSHUFPS     $0x44, Y15, Y13, Y6
	VSHUFPS     $0xEE, Y15, Y13, Y7
	VMOVUPS     Y0, (DI)
	VMOVUPS     Y1, (DI)(R8*1)
	VMOVUPS     Y2, (DI)(R8*2)
	VMOVUPS     Y3, (DI)(R10*1)
	VMOVUPS     Y4, (BX)
	VMOVUPS     Y5, (BX)(R8*1)
	VMOVUPS     Y6, (BX)(R8*2)
	VMOVUPS     Y7, (BX)(R10*1)
	ADDQ        $32, SI
	LEAQ        (DI)(R8*8), DI
	DECQ        CX
	JNZ         loop
	VZEROUPPER
	RET

// func countNonzeroVectors(row *float32, groups int) (count int)
TEXT ·countNonzeroVectors(SB), NOSPLIT, $0-24
	MOVQ  row+0(FP), SI
	MOVQ  groups+8(FP), CX
	XORQ  BX, BX
	VPXOR Y0, Y0, Y0

loop:
	VCMPPS    $4, (SI), Y0, Y1 // not equal, or no number
	VMOVMSKPS Y1, AX
	POPCNTL   AX, AX
	ADDQ      AX, BX
	ADDQ      $32, SI
	DECQ      CX
	JNZ       loop
	MOVQ      BX, count+16(FP)
	VZEROUPPER
	RET

DATA eight<>+0(SB)/4, $8
GLOBL eight<>(SB), RODATA|NOPTR, $4

// func compressVectors(columns *uint32, values, row *float32, groups int, orders *[256]uint64) (count int)
TEXT ·compressVectors(SB), NOSPLIT, $0-48
	MOVQ         columns+0(FP), DI
	MOVQ         values+8(FP), DX
	MOVQ         row+16(FP), SI
	MOVQ         groups+24(FP), CX
	MOVQ         orders+32(FP), R8
	XORQ         BX, BX
	VPXOR        Y0, Y0, Y0
	VPXOR        Y6, Y6, Y6    // the column of the first of the eight
	VPBROADCASTD eight<>(SB), Y7

loop:
	VMOVUPS   (SI), Y1
	VCMPPS    $4, Y1, Y0, Y2   // not equal, or no number
	VMOVMSKPS Y2, AX
	VPMOVZXBD (R8)(AX*8), Y3
	VPERMPS   Y1, Y3, Y4
	VMOVUPS   Y4, (DX)(BX*4)
	VPADDD    Y3, Y6, Y5
	VMOVDQU   Y5, (DI)(BX*4)
	POPCNTL   AX, AX
	ADDQ      AX, BX
	VPADDD    Y7, Y6, Y6
	ADDQ      $32, SI
	DECQ      CX
	JNZ       loop
	MOVQ      BX, count+40(FP)
	VZEROUPPER
	RET

// func fillVectors(to *dropBytes, states *[2][8]uint64, step *leap)
TEXT ·fillVectors(SB), NOSPLIT, $0-24
	MOVQ         to+0(FP), DI
	MOVQ         states+8(FP), SI
	MOVQ         step+16(FP), AX
	VMOVDQU64    (SI), Z0               // high
	VMOVDQU64    64(SI), Z1             // low
	VPBROADCASTQ 0(AX), Z16             // times.high
	VPBROADCASTQ 8(AX), Z17             // times.low
	VPBROADCASTQ 16(AX), Z18            // plus.high
	VPBROADCASTQ 24(AX), Z19            // plus.low
	VPSRLQ       $32, Z17, Z20
	VPTERNLOGD   $0xFF, Z21, Z21, Z21
	VPSRLQ       $63, Z21, Z23          // 1
	VPSRLQ       $32, Z21, Z21          // 32 bits
	MOVQ         $0xda942042e4dd58b5, AX
	VPBROADCASTQ AX, Z22
	MOVQ         $64, CX

loop:
	VPSRLQ    $32, Z0, Z2
	VPXORQ    Z0, Z2, Z2
	VPMULLQ   Z22, Z2, Z2
	VPSRLQ    $48, Z2, Z3
	VPXORQ    Z3, Z2, Z2
	VPORQ     Z23, Z1, Z3
	VPMULLQ   Z3, Z2, Z2
	VMOVDQU64 Z2, (DI)
	VPMULLQ   Z16, Z1, Z4
	VPMULLQ   Z17, Z0, Z5
	VPADDQ    Z5, Z4, Z4
	VPADDQ    Z18, Z4, Z4
	VPSRLQ    $32, Z1, Z6
	VPMULUDQ  Z17, Z1, Z7      // low times times.low, in halves
	VPMULUDQ  Z20, Z1, Z8
	VPMULUDQ  Z17, Z6, Z9
	VPMULUDQ  Z20, Z6, Z10
	VPMULLQ   Z17, Z1, Z1
	VPSRLQ    $32, Z7, Z7
	VPADDQ    Z7, Z9, Z9
	VPANDQ    Z21, Z9, Z11
	VPADDQ    Z11, Z8, Z8
	VPSRLQ    $32, Z9, Z9
	VPSRLQ    $32, Z8, Z8
	VPADDQ    Z9, Z10, Z10
	VPADDQ    Z8, Z10, Z10
	VPADDQ    Z10, Z4, Z0
	VPADDQ    Z19, Z1, Z1
	VPCMPUQ   $1, Z19, Z1, K1  // a carry
	VPADDQ    Z23, Z0, K1, Z0
	ADDQ      $64, DI
	DECQ      CX
	JNZ       loop
	VZEROUPPER
	RET
