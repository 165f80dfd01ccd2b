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

// func dotRowsAVX2(a, b *int8, n int) int32
//
// Both rows are widened to 16 bits; n is a multiple of 16.
TEXT ·dotRowsAVX2(SB), NOSPLIT, $0-28
	MOVQ  a+0(FP), SI
	MOVQ  b+8(FP), DI
	MOVQ  n+16(FP), CX
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1

rowsBy32:
	CMPQ      CX, $32
	JLT       rowsBy16
	VPMOVSXBW (SI), Y2
	VPMOVSXBW 16(SI), Y3
	VPMOVSXBW (DI), Y4
	VPMOVSXBW 16(DI), Y5
	VPMADDWD  Y4, Y2, Y2
	VPMADDWD  Y5, Y3, Y3
	VPADDD    Y2, Y0, Y0
	VPADDD    Y3, Y1, Y1
	ADDQ      $32, SI
	ADDQ      $32, DI
	SUBQ      $32, CX
	JMP       rowsBy32

rowsBy16:
	CMPQ      CX, $16
	JLT       rowsSum
	VPMOVSXBW (SI), Y2
	VPMOVSXBW (DI), Y4
	VPMADDWD  Y4, Y2, Y2
	VPADDD    Y2, Y0, Y0

rowsSum:
	VPADDD       Y1, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPADDD       X1, X0, X0
	VPSHUFD      $0x4E, X0, X1
	VPADDD       X1, X0, X0
	VPSHUFD      $0xB1, X0, X1
	VPADDD       X1, X0, X0
	VMOVD        X0, AX
	MOVL         AX, ret+24(FP)
	VZEROUPPER
	RET

// DOT32 multiplies 32 codes of a row with those of the query, and adds them up in fours. A row's signs go over to the
// query, as what is multiplied must have none: no pair exceeds 2·128·127, which fits into 16 bits.
#define DOT32(at, query, out) \
	VPABSB     at(DI), Y4        \
	VPSIGNB    at(DI), query, Y5 \
	VPMADDUBSW Y5, Y4, Y4        \
	VPMADDWD   Y13, Y4, out

// DOT256 is what dotsAVX2 makes of a row of 256 codes, before it is added up.
#define DOT256(row, out) \
	DOT32(row, Y6, out)      \
	DOT32((row+32), Y7, Y4)  \
	VPADDD Y4, out, out      \
	DOT32((row+64), Y8, Y4)  \
	VPADDD Y4, out, out      \
	DOT32((row+96), Y9, Y4)  \
	VPADDD Y4, out, out      \
	DOT32((row+128), Y10, Y4)\
	VPADDD Y4, out, out      \
	DOT32((row+160), Y11, Y4)\
	VPADDD Y4, out, out      \
	DOT32((row+192), Y12, Y4)\
	VPADDD Y4, out, out      \
	DOT32((row+224), Y14, Y4)\
	VPADDD Y4, out, out

// NARROW makes bytes of 32 codes of the query.
#define NARROW(at, out) \
	VMOVDQU   at(R8), Y4           \
	VPACKSSWB (at+32)(R8), Y4, Y4  \
	VPERMQ    $0xD8, Y4, out

// func dots256AVX2(query *int16, rows *int8, sums *int32, count int)
//
// It is dotsAVX2 for rows of 256 codes, four at a time, and a query whose codes are from -127 to 127.
TEXT ·dots256AVX2(SB), NOSPLIT, $0-32
	MOVQ query+0(FP), R8
	MOVQ rows+8(FP), DI
	MOVQ sums+16(FP), R12
	MOVQ count+24(FP), R13
	NARROW(0, Y6)
	NARROW(64, Y7)
	NARROW(128, Y8)
	NARROW(192, Y9)
	NARROW(256, Y10)
	NARROW(320, Y11)
	NARROW(384, Y12)
	NARROW(448, Y14)
	VPCMPEQW Y13, Y13, Y13
	VPSRLW   $15, Y13, Y13 // ones of 16 bits

four:
	DOT256(0, Y0)
	DOT256(256, Y1)
	DOT256(512, Y2)
	DOT256(768, Y3)
	VPHADDD      Y1, Y0, Y0
	VPHADDD      Y3, Y2, Y2
	VPHADDD      Y2, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPADDD       X1, X0, X0
	VMOVDQU      X0, (R12)
	ADDQ         $1024, DI
	ADDQ         $16, R12
	SUBQ         $4, R13
	JNZ          four
	VZEROUPPER
	RET

// ROW is where the row begins whose number is next in the list.
#define ROW(at) \
	MOVLQSX at(R9), DI \
	SHLQ    $8, DI     \
	ADDQ    R10, DI

// func dotsAt256AVX2(query *int16, rows *int8, list *int32, sums *int32, count int)
TEXT ·dotsAt256AVX2(SB), NOSPLIT, $0-40
	MOVQ query+0(FP), R8
	MOVQ rows+8(FP), R10
	MOVQ list+16(FP), R9
	MOVQ sums+24(FP), R12
	MOVQ count+32(FP), R13
	NARROW(0, Y6)
	NARROW(64, Y7)
	NARROW(128, Y8)
	NARROW(192, Y9)
	NARROW(256, Y10)
	NARROW(320, Y11)
	NARROW(384, Y12)
	NARROW(448, Y14)
	VPCMPEQW Y13, Y13, Y13
	VPSRLW   $15, Y13, Y13 // ones of 16 bits

four:
	ROW(0)
	DOT256(0, Y0)
	ROW(4)
	DOT256(0, Y1)
	ROW(8)
	DOT256(0, Y2)
	ROW(12)
	DOT256(0, Y3)
	VPHADDD      Y1, Y0, Y0
	VPHADDD      Y3, Y2, Y2
	VPHADDD      Y2, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPADDD       X1, X0, X0
	VMOVDQU      X0, (R12)
	ADDQ         $16, R9
	ADDQ         $16, R12
	SUBQ         $4, R13
	JNZ          four
	VZEROUPPER
	RET

// NIBBLES looks up what the nibbles of 32 bytes give, in two tables. Where low ones are nothing, a shift moves none of
// them into the byte before.
#define NIBBLES(at, low, high, a, b) \
	VPAND   at, Y15, a   \
	VPANDN  at, Y15, b   \
	VPSRLW  $4, b, b     \
	VPSHUFB a, low, a    \
	VPSHUFB b, high, b

// FIRST has what they give together in sum, MORE adds it. A byte holds what 16 dimensions give.
#define FIRST(at, low, high, sum) \
	NIBBLES(at, low, high, sum, Y14) \
	VPADDB Y14, sum, sum

#define MORE(at, low, high, sum) \
	VPAND   at, Y15, Y14    \
	VPSHUFB Y14, low, Y14   \
	VPADDB  Y14, sum, sum   \
	VPANDN  at, Y15, Y14    \
	VPSRLW  $4, Y14, Y14    \
	VPSHUFB Y14, high, Y14  \
	VPADDB  Y14, sum, sum

// WORDS adds what bytes give to words. Odd rows are added up apart, and in the upper halves of words with the even ones.
#define WORDS(sum, even, odd) \
	VPADDW sum, even, even \
	VPSRLW $8, sum, sum    \
	VPADDW sum, odd, odd

// TABLES is what two vectors of each half of a block are looked up in.
#define TABLES(at) \
	VBROADCASTI128 at(SI), Y12      \
	VBROADCASTI128 (at+16)(SI), Y13

// STEP adds what 16 dimensions of 32 rows give, by tables that all are in registers.
#define STEP(at, even, odd) \
	FIRST(at(DI), Y5, Y6, Y4)         \
	MORE((at+64)(DI), Y7, Y8, Y4)     \
	MORE((at+128)(DI), Y9, Y10, Y4)   \
	MORE((at+192)(DI), Y11, Y12, Y4)  \
	WORDS(Y4, even, odd)

// SORT leaves the sums of 32 rows in Y13, 0 to 7 and 16 to 23, and Y14.
#define SORT(even, odd) \
	VPSLLW     $8, odd, Y13    \
	VPSUBW     Y13, even, even \
	VPUNPCKLWD odd, even, Y13  \
	VPUNPCKHWD odd, even, Y14

// BOUNDS has what sums are compared by.
#define BOUNDS \
	VBROADCASTSS (R9), Y8    \
	VBROADCASTSS 4(R9), Y9   \
	VBROADCASTSS 8(R9), Y10  \
	VBROADCASTSS 12(R9), Y11 \
	VBROADCASTSS 16(R9), Y12

// EIGHT makes bits of eight sums of 16 bits, of the rows from a place on.
#define EIGHT(sums, at) \
	VPMOVZXWD sums, Y0               \
	VCVTDQ2PS Y0, Y0                 \
	VMULPS    Y8, Y0, Y0             \
	VADDPS    Y9, Y0, Y0             \
	VMULPS    (at*4)(DI), Y0, Y0     \
	VMULPS    (at*4+256)(DI), Y10, Y1\
	VADDPS    Y1, Y0, Y0             \
	VMULPS    (at*4+512)(DI), Y11, Y1\
	VADDPS    Y1, Y0, Y0             \
	VCMPPS    $5, Y12, Y0, Y0        \
	VMOVMSKPS Y0, DX                 \
	SHLQ      $at, DX                \
	ORQ       DX, AX

// HALF makes bits of 32 sums, of the rows from a place on. Y0 and Y1 may be among them.
#define HALF(even, odd, at) \
	SORT(even, odd)                \
	EIGHT(X13, at)                 \
	EIGHT(X14, (at+8))             \
	VEXTRACTI128 $1, Y13, X13      \
	EIGHT(X13, (at+16))            \
	VEXTRACTI128 $1, Y14, X14      \
	EIGHT(X14, (at+24))

// BLOCK writes the bits of a block, which has two halves, and goes to the numbers of the next one.
#define BLOCK(even, odd, even2, odd2) \
	XORQ AX, AX            \
	HALF(even, odd, 0)     \
	HALF(even2, odd2, 32)  \
	MOVQ AX, (R12)         \
	ADDQ $8, R12           \
	ADDQ R11, DI

// func mayReachAVX2(blocks *byte, steps int, table *byte, by *bounds, masks *uint64, count int)
//
// Two blocks take the same tables.
TEXT ·mayReachAVX2(SB), NOSPLIT, $0-48
	MOVQ     blocks+0(FP), DI
	MOVQ     steps+8(FP), R10
	MOVQ     table+16(FP), R8
	MOVQ     by+24(FP), R9
	MOVQ     masks+32(FP), R12
	MOVQ     count+40(FP), R13
	VPCMPEQW Y15, Y15, Y15
	VPSRLW   $12, Y15, Y15
	VPACKUSWB Y15, Y15, Y15 // 15 of 8 bits
	MOVQ     R10, R11
	SHLQ     $8, R11
	ADDQ     $768, R11 // of a block

two:
	CMPQ  R13, $2
	JLT   one
	MOVQ  R8, SI
	MOVQ  R10, CX
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3
	VPXOR Y4, Y4, Y4
	VPXOR Y5, Y5, Y5
	VPXOR Y6, Y6, Y6
	VPXOR Y7, Y7, Y7

steptwo:
	TABLES(0)
	FIRST(0(DI), Y12, Y13, Y8)
	FIRST(32(DI), Y12, Y13, Y9)
	FIRST(0(DI)(R11*1), Y12, Y13, Y10)
	FIRST(32(DI)(R11*1), Y12, Y13, Y11)
	TABLES(32)
	MORE(64(DI), Y12, Y13, Y8)
	MORE(96(DI), Y12, Y13, Y9)
	MORE(64(DI)(R11*1), Y12, Y13, Y10)
	MORE(96(DI)(R11*1), Y12, Y13, Y11)
	TABLES(64)
	MORE(128(DI), Y12, Y13, Y8)
	MORE(160(DI), Y12, Y13, Y9)
	MORE(128(DI)(R11*1), Y12, Y13, Y10)
	MORE(160(DI)(R11*1), Y12, Y13, Y11)
	TABLES(96)
	MORE(192(DI), Y12, Y13, Y8)
	MORE(224(DI), Y12, Y13, Y9)
	MORE(192(DI)(R11*1), Y12, Y13, Y10)
	MORE(224(DI)(R11*1), Y12, Y13, Y11)
	WORDS(Y8, Y0, Y1)
	WORDS(Y9, Y2, Y3)
	WORDS(Y10, Y4, Y5)
	WORDS(Y11, Y6, Y7)
	ADDQ $256, DI
	SUBQ $-128, SI
	DECQ CX
	JNZ  steptwo

	BOUNDS
	BLOCK(Y0, Y1, Y2, Y3)
	BLOCK(Y4, Y5, Y6, Y7)
	SUBQ R11, DI
	ADDQ $768, DI
	SUBQ $2, R13
	JMP  two

one:
	TESTQ R13, R13
	JZ    done
	MOVQ  R8, SI
	MOVQ  R10, CX
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3

stepone:
	VBROADCASTI128 (SI), Y5
	VBROADCASTI128 16(SI), Y6
	VBROADCASTI128 32(SI), Y7
	VBROADCASTI128 48(SI), Y8
	VBROADCASTI128 64(SI), Y9
	VBROADCASTI128 80(SI), Y10
	VBROADCASTI128 96(SI), Y11
	VBROADCASTI128 112(SI), Y12
	STEP(0, Y0, Y1)
	STEP(32, Y2, Y3)
	ADDQ $256, DI
	SUBQ $-128, SI
	DECQ CX
	JNZ  stepone

	BOUNDS
	BLOCK(Y0, Y1, Y2, Y3)

done:
	VZEROUPPER
	RET

// WIDE is NIBBLES of 64 rows.
#define WIDE(at, low, high) \
	VPANDQ  at, Z15, Z13     \
	VPSRLW  $4, at, Z14      \
	VPANDQ  Z15, Z14, Z14    \
	VPSHUFB Z13, low, Z13    \
	VPSHUFB Z14, high, Z14

// WIDER is MORE of 64 rows.
#define WIDER(at, low, high) \
	WIDE(at, low, high)   \
	VPADDB Z13, Z4, Z4    \
	VPADDB Z14, Z4, Z4

// STEP512 is STEP of 64 rows.
#define STEP512(a, b, c, d, even, odd) \
	WIDE(a, Z5, Z6)         \
	VPADDB Z13, Z14, Z4     \
	WIDER(b, Z7, Z8)        \
	WIDER(c, Z9, Z10)       \
	WIDER(d, Z11, Z12)      \
	VPSRLW $8, Z4, Z13      \
	VPADDW Z4, even, even   \
	VPADDW Z13, odd, odd

#define TABLES512 \
	VBROADCASTI32X4 (SI), Z5     \
	VBROADCASTI32X4 16(SI), Z6   \
	VBROADCASTI32X4 32(SI), Z7   \
	VBROADCASTI32X4 48(SI), Z8   \
	VBROADCASTI32X4 64(SI), Z9   \
	VBROADCASTI32X4 80(SI), Z10  \
	VBROADCASTI32X4 96(SI), Z11  \
	VBROADCASTI32X4 112(SI), Z12

// BLOCK512 is BLOCK of sums of 64 rows.
#define BLOCK512(even, odd) \
	VEXTRACTI64X4 $1, even, Y2 \
	VEXTRACTI64X4 $1, odd, Y3  \
	VEXTRACTI64X4 $0, even, Y0 \
	VEXTRACTI64X4 $0, odd, Y1  \
	BLOCK(Y0, Y1, Y2, Y3)

// func mayReachAVX512(blocks *byte, steps int, table *byte, by *bounds, masks *uint64, count int)
//
// Four blocks take the same tables.
TEXT ·mayReachAVX512(SB), NOSPLIT, $0-48
	MOVQ       blocks+0(FP), DI
	MOVQ       steps+8(FP), R10
	MOVQ       table+16(FP), R8
	MOVQ       by+24(FP), R9
	MOVQ       masks+32(FP), R12
	MOVQ       count+40(FP), R13
	VPTERNLOGD $0xff, Z15, Z15, Z15
	VPSRLW     $12, Z15, Z15
	VPACKUSWB  Z15, Z15, Z15 // 15 of 8 bits
	MOVQ       R10, R11
	SHLQ       $8, R11
	ADDQ       $768, R11 // of a block
	LEAQ       (R11)(R11*2), BX

four:
	CMPQ   R13, $4
	JLT    one
	MOVQ   R8, SI
	MOVQ   R10, CX
	VPXORQ Z16, Z16, Z16
	VPXORQ Z17, Z17, Z17
	VPXORQ Z18, Z18, Z18
	VPXORQ Z19, Z19, Z19
	VPXORQ Z20, Z20, Z20
	VPXORQ Z21, Z21, Z21
	VPXORQ Z22, Z22, Z22
	VPXORQ Z23, Z23, Z23

stepfour:
	TABLES512
	STEP512(0(DI), 64(DI), 128(DI), 192(DI), Z16, Z17)
	STEP512(0(DI)(R11*1), 64(DI)(R11*1), 128(DI)(R11*1), 192(DI)(R11*1), Z18, Z19)
	STEP512(0(DI)(R11*2), 64(DI)(R11*2), 128(DI)(R11*2), 192(DI)(R11*2), Z20, Z21)
	STEP512(0(DI)(BX*1), 64(DI)(BX*1), 128(DI)(BX*1), 192(DI)(BX*1), Z22, Z23)
	ADDQ $256, DI
	SUBQ $-128, SI
	DECQ CX
	JNZ  stepfour

	BOUNDS
	BLOCK512(Z16, Z17)
	BLOCK512(Z18, Z19)
	BLOCK512(Z20, Z21)
	BLOCK512(Z22, Z23)
	SUBQ R11, DI
	ADDQ $768, DI
	SUBQ $4, R13
	JMP  four

one:
	TESTQ  R13, R13
	JZ     done
	MOVQ   R8, SI
	MOVQ   R10, CX
	VPXORQ Z16, Z16, Z16
	VPXORQ Z17, Z17, Z17

stepone:
	TABLES512
	STEP512(0(DI), 64(DI), 128(DI), 192(DI), Z16, Z17)
	ADDQ $256, DI
	SUBQ $-128, SI
	DECQ CX
	JNZ  stepone

	BOUNDS
	BLOCK512(Z16, Z17)
	SUBQ R11, DI
	ADDQ $768, DI
	DECQ R13
	JMP  one

done:
	VZEROUPPER
	RET

// func likelyAVX2(sums *int32, scales *float32, count int, by *first) uint64
//
// It computes in float32 what a score is in float64, each step rounded up by more than a float32
// may be off. What is not less than the least, or is no number, has a bit.
TEXT ·likelyAVX2(SB), NOSPLIT, $0-40
	MOVQ         sums+0(FP), SI
	MOVQ         scales+8(FP), DI
	MOVQ         count+16(FP), R9
	MOVQ         by+24(FP), R10
	VBROADCASTSS (R10), Y9
	VBROADCASTSS 4(R10), Y10
	VBROADCASTSS 8(R10), Y13
	XORQ         CX, CX
	XORQ         AX, AX

eight:
	VCVTDQ2PS (SI), Y0
	VMULPS    Y9, Y0, Y1
	VMULPS    Y10, Y0, Y0
	VMAXPS    Y1, Y0, Y0
	VMULPS    (DI), Y0, Y0
	VCMPPS    $5, Y13, Y0, Y0
	VMOVMSKPS Y0, DX
	SHLQ      CX, DX
	ORQ       DX, AX
	ADDQ      $32, SI
	ADDQ      $32, DI
	ADDQ      $8, CX
	CMPQ      CX, R9
	JLT       eight
	MOVQ      AX, ret+32(FP)
	VZEROUPPER
	RET

// func prefetchLines(rows *int8, dims int, list *int32, count int)
TEXT ·prefetchLines(SB), NOSPLIT, $0-32
	MOVQ rows+0(FP), R8
	MOVQ dims+8(FP), R9
	MOVQ list+16(FP), R10
	MOVQ count+24(FP), R13

row:
	MOVLQSX (R10), SI
	IMULQ   R9, SI
	ADDQ    R8, SI
	MOVQ    R9, CX

line:
	PREFETCHT0 (SI)
	PREFETCHT0 64(SI)
	ADDQ       $128, SI
	SUBQ       $128, CX
	JGT        line
	ADDQ       $4, R10
	DECQ       R13
	JNZ        row
	RET
