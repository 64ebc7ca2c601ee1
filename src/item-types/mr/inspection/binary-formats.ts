/**
 * The binary formats that a project may list, each with its extensions and its first bytes. Both must fit: the extension says what
 * tools will take the file for, the bytes what it is. Nothing is ever unpacked.
 */

interface BinaryFormat {
  readonly extensions: readonly string[]
  /** Any of these fits; `at` is the offset, 0 if left out. */
  readonly magic: readonly { readonly hex: string; readonly at?: number }[]
}

const ZIP = { hex: '504b0304' }

export const BINARY_FORMATS = {
  avif: { extensions: ['avif'], magic: [{ hex: '6674797061766966', at: 4 }] },
  gif: { extensions: ['gif'], magic: [{ hex: '474946383761' }, { hex: '474946383961' }] },
  gzip: { extensions: ['gz', 'tgz'], magic: [{ hex: '1f8b08' }] },
  ico: { extensions: ['ico'], magic: [{ hex: '00000100' }] },
  jar: { extensions: ['jar'], magic: [ZIP] },
  jpeg: { extensions: ['jpg', 'jpeg'], magic: [{ hex: 'ffd8ff' }] },
  otf: { extensions: ['otf'], magic: [{ hex: '4f54544f' }] },
  pdf: { extensions: ['pdf'], magic: [{ hex: '255044462d' }] },
  png: { extensions: ['png'], magic: [{ hex: '89504e470d0a1a0a' }] },
  ttf: { extensions: ['ttf'], magic: [{ hex: '00010000' }, { hex: '74727565' }] },
  webp: { extensions: ['webp'], magic: [{ hex: '57454250', at: 8 }] },
  woff: { extensions: ['woff'], magic: [{ hex: '774f4646' }] },
  woff2: { extensions: ['woff2'], magic: [{ hex: '774f4632' }] },
  zip: { extensions: ['zip'], magic: [ZIP] },
} as const satisfies Readonly<Record<string, BinaryFormat>>

export type BinaryFormatName = keyof typeof BINARY_FORMATS

export const BINARY_FORMAT_NAMES = Object.keys(BINARY_FORMATS) as readonly BinaryFormatName[]

export function hasExtensionOf(format: BinaryFormatName, path: string): boolean {
  const { extensions }: BinaryFormat = BINARY_FORMATS[format]
  return extensions.some((extension) => path.toLowerCase().endsWith(`.${extension}`))
}

export function hasMagicOf(format: BinaryFormatName, bytes: Buffer): boolean {
  const { magic }: BinaryFormat = BINARY_FORMATS[format]
  return magic.some(({ hex, at = 0 }) => bytes.toString('hex', at, at + hex.length / 2) === hex)
}
