#include "textflag.h"

// func dotsAVX2(query *int16, rows *int8, n, stride int, sums *int32, count int)
//
// Sixteen bytes of the row are widened to 16 bits, multiplied with sixteen codes
// of the query and added in pairs to 32 bits, which cannot overflow: a pair is at
// most 2·128·128. Four sums hide the latency of the additions.
TEXT ·dotsAVX2(SB), NOSPLIT, $0-48
	MOVQ  query+0(FP), R8
	MOVQ  rows+8(FP), R9
	MOVQ  n+16(FP), R10
	MOVQ  stride+24(FP), R11
	MOVQ  sums+32(FP), R12
	MOVQ  count+40(FP), R13

row:
	MOVQ  R8, SI
	MOVQ  R9, DI
	MOVQ  R10, CX
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3

by64:
	CMPQ      CX, $64
	JLT       by16
	VPMOVSXBW (DI), Y4
	VPMOVSXBW 16(DI), Y5
	VPMOVSXBW 32(DI), Y6
	VPMOVSXBW 48(DI), Y7
	VPMADDWD  (SI), Y4, Y4
	VPMADDWD  32(SI), Y5, Y5
	VPMADDWD  64(SI), Y6, Y6
	VPMADDWD  96(SI), Y7, Y7
	VPADDD    Y4, Y0, Y0
	VPADDD    Y5, Y1, Y1
	VPADDD    Y6, Y2, Y2
	VPADDD    Y7, Y3, Y3
	ADDQ      $64, DI
	ADDQ      $128, SI
	SUBQ      $64, CX
	JMP       by64

by16:
	CMPQ      CX, $16
	JLT       sum
	VPMOVSXBW (DI), Y4
	VPMADDWD  (SI), Y4, Y4
	VPADDD    Y4, Y0, Y0
	ADDQ      $16, DI
	ADDQ      $32, SI
	SUBQ      $16, CX
	JMP       by16

sum:
	VPADDD       Y1, Y0, Y0
	VPADDD       Y3, Y2, Y2
	VPADDD       Y2, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPADDD       X1, X0, X0
	VPSHUFD      $0x4E, X0, X1
	VPADDD       X1, X0, X0
	VPSHUFD      $0xB1, X0, X1
	VPADDD       X1, X0, X0
	VMOVD        X0, (R12)
	ADDQ         $4, R12
	ADDQ         R11, R9
	DECQ         R13
	JNZ          row
	VZEROUPPER
	RET

// func productsAVX2(query *int8, codes *byte, n int, sums *int32, count int)
//
// A byte has the codes of four dimensions, n apart. Each of them is multiplied with the query's
// and added in pairs to 16 bits, which cannot overflow: a pair is at most 2·3·128, and a
// sketch of 256 bytes has 32 of them in each sum.
TEXT ·productsAVX2(SB), NOSPLIT, $0-40
	MOVQ     query+0(FP), R8
	MOVQ     codes+8(FP), DI
	MOVQ     n+16(FP), R10
	MOVQ     sums+24(FP), R12
	MOVQ     count+32(FP), R13
	VPCMPEQW Y14, Y14, Y14
	VPSRLW   $15, Y14, Y13     // ones of 16 bits
	VPSRLW   $14, Y14, Y14     // 3 of 16 bits
	VPSLLW   $8, Y14, Y12
	VPOR     Y12, Y14, Y14     // 3 of 8 bits
	LEAQ     (R10)(R10*2), R11

sketch:
	MOVQ  R8, SI
	MOVQ  R10, CX
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1

by32:
	VMOVDQU    (DI), Y4
	VPSRLW     $2, Y4, Y5
	VPSRLW     $4, Y4, Y6
	VPSRLW     $6, Y4, Y7
	VPAND      Y14, Y4, Y4
	VPAND      Y14, Y5, Y5
	VPAND      Y14, Y6, Y6
	VPAND      Y14, Y7, Y7
	VPMADDUBSW (SI), Y4, Y4
	VPMADDUBSW (SI)(R10*1), Y5, Y5
	VPMADDUBSW (SI)(R10*2), Y6, Y6
	VPMADDUBSW (SI)(R11*1), Y7, Y7
	VPADDW     Y4, Y0, Y0
	VPADDW     Y5, Y1, Y1
	VPADDW     Y6, Y0, Y0
	VPADDW     Y7, Y1, Y1
	ADDQ       $32, DI
	ADDQ       $32, SI
	SUBQ       $32, CX
	JNZ        by32

	VPADDW       Y1, Y0, Y0
	VPMADDWD     Y13, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPADDD       X1, X0, X0
	VPSHUFD      $0x4E, X0, X1
	VPADDD       X1, X0, X0
	VPSHUFD      $0xB1, X0, X1
	VPADDD       X1, X0, X0
	VMOVD        X0, (R12)
	ADDQ         $4, R12
	DECQ         R13
	JNZ          sketch
	VZEROUPPER
	RET
