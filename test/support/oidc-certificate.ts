/**
 * A certificate for 127.0.0.1 that signs itself, made afresh: the smallest X.509 that a TLS client accepts when it is told
 * to trust it. Written out by hand because Node makes keys and not certificates.
 */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'

export interface SelfSigned {
  /** PEM, both. */
  readonly certificate: string
  readonly key: string
}

const OID = {
  ecdsaWithSha256: '2a8648ce3d040302',
  commonName: '550403',
  subjectAltName: '551d11',
  basicConstraints: '551d13',
}

export function createSelfSigned(): SelfSigned {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const algorithm = sequence(oid(OID.ecdsaWithSha256))
  const name = sequence(der(0x31, sequence(oid(OID.commonName), der(0x0c, Buffer.from('a cluster of a test')))))
  const extensions = sequence(
    sequence(oid(OID.subjectAltName), octets(sequence(der(0x87, Buffer.from([127, 0, 0, 1]))))),
    sequence(oid(OID.basicConstraints), octets(sequence(der(0x01, Buffer.from([0xff]))))),
  )
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    algorithm,
    name,
    sequence(time('20200101000000Z'), time('20991231235959Z')),
    name,
    publicKey.export({ format: 'der', type: 'spki' }),
    der(0xa3, extensions),
  )
  const signature = der(0x03, Buffer.concat([Buffer.from([0]), sign('SHA256', body, privateKey)]))
  const text = sequence(body, algorithm, signature).toString('base64').replaceAll(/.{64}/g, '$&\n')
  return {
    certificate: `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
  }
}

function der(tag: number, content: Buffer): Buffer {
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

const sequence = (...parts: readonly Buffer[]) => der(0x30, Buffer.concat(parts))
const octets = (content: Buffer) => der(0x04, content)
const oid = (hex: string) => der(0x06, Buffer.from(hex, 'hex'))
const time = (text: string) => der(0x18, Buffer.from(text))
