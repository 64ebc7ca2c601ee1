/**
 * Addresses of identity providers. An issuer is compared as the exact text that its tokens carry, so it is checked here and
 * never made canonical: a trailing slash is part of the name.
 */
import { z } from 'zod'

/** Stands for the issuer of the cluster that the service runs in; decision 0011. */
export const CLUSTER_ISSUER = 'k8s'

const LOOPBACK_HOSTS = ['localhost', '127.0.0.1', '[::1]']
const MAX_LENGTH = 512

export const issuerSchema = z.string().check((context) => {
  const fault = context.value === CLUSTER_ISSUER ? null : faultOfUrl(context.value)
  if (fault === null) return
  const message = `an issuer must be k8s, or exactly what its tokens have as iss, such as https://gitlab.com; it ${fault}`
  context.issues.push({ code: 'custom', input: context.value, message })
})

export const providerUrlSchema = z.string().check((context) => {
  const fault = faultOfUrl(context.value)
  if (fault !== null) context.issues.push({ code: 'custom', input: context.value, message: `the address ${fault}` })
})

/** https, or http for what runs on this machine; null when it may be asked. */
export function faultOfTransport(url: URL): string | null {
  if (url.username !== '' || url.password !== '') return 'has a user or a password in it'
  if (url.protocol === 'https:') return null
  if (url.protocol !== 'http:') return 'is no https address'
  return LOOPBACK_HOSTS.includes(url.hostname) ? null : 'is not https, so anybody on the way could answer in its place'
}

function faultOfUrl(text: string): string | null {
  const url = text.length <= MAX_LENGTH && URL.canParse(text) ? new URL(text) : null
  if (url === null || /\s/.test(text)) return 'is no address'
  if (/[?#]/.test(text)) return 'has ? or # in it'
  return faultOfTransport(url)
}
