/** The frame of every page, and the small pieces that several pages show. */
import type { SandboxContext } from '../context.ts'
import type { MergeRequest, PipelineStatus, Project } from '../state.ts'
import { type Html, html } from './html.ts'

export interface Page {
  readonly title: string
  readonly body: Html
  /** Links from the project down to here. */
  readonly trail?: readonly (readonly [text: string, href: string])[]
  /** Seconds until the page asks again, while something on it still moves. */
  readonly refresh?: number | undefined
}

export function renderPage({ title, body, trail = [], refresh }: Page): string {
  const page = html`<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
${refresh !== undefined && html`<meta http-equiv="refresh" content="${refresh}">`}
<title>${title} · sandbox GitLab</title><link rel="icon" href="data:,"><link rel="stylesheet" href="/-/sandbox.css">
</head><body><header><a class="brand" href="/">Sandbox GitLab</a>
${trail.map(([text, href]) => html`<span class="soft">/</span> <a href="${href}">${text}</a> `)}
<span class="note">a stand-in for development, not GitLab itself</span></header><main>${body}</main></body></html>`
  return `<!doctype html>${page.html}`
}

export function section(title: string, body: Html, end?: Html): Html {
  const right = end && html`<span class="end">${end}</span>`
  return html`<section><div class="head"><h2>${title}</h2>${right}</div>${body}</section>`
}

export function empty(text: string): Html {
  return html`<div class="empty">${text}</div>`
}

/** Every path segment encoded, slashes kept. */
function encodePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/')
}

/** A path of the sandbox below a project: `link(project, 'commit', sha)`. */
export function link(project: Project, ...parts: readonly (string | number)[]): string {
  const rest = parts.length === 0 ? '' : `/-/${parts.map((part) => encodePath(String(part))).join('/')}`
  return `/${encodePath(project.pathWithNamespace)}${rest}`
}

export function commitLink(project: Project, sha: string): Html {
  return html`<a href="${link(project, 'commit', sha)}"><code>${sha.slice(0, 8)}</code></a>`
}

export function branchLink(project: Project, branch: string): Html {
  return html`<a href="${link(project, 'tree', branch)}"><code>${branch}</code></a>`
}

export function userName(context: SandboxContext, id: number | null): Html {
  const user = id === null ? null : context.findUser(id)
  return user === null ? html`somebody` : html`<a href="/${user.username}">${user.name}</a>`
}

/** A time as people read it, in UTC. */
export function time(iso: string | null): Html {
  if (iso === null) return html`–`
  const at = new Date(iso).toISOString()
  return html`<time datetime="${at}">${at.slice(0, 10)} ${at.slice(11, 19)}</time>`
}

const TONES: Record<PipelineStatus, string> = {
  created: 'idle',
  pending: 'wait',
  running: 'busy',
  success: 'good',
  failed: 'bad',
  canceled: 'idle',
  skipped: 'idle',
  manual: 'wait',
}

/** The badge of a pipeline or job. */
export function statusBadge(status: PipelineStatus, allowFailure = false): Html {
  const warned = status === 'failed' && allowFailure
  const text = status === 'success' ? 'passed' : status
  return html`<span class="badge ${warned ? 'wait' : TONES[status]}">${warned ? 'failed (allowed)' : text}</span>`
}

const STATE_TONES: Record<MergeRequest['state'], string> = {
  opened: 'good',
  closed: 'bad',
  locked: 'busy',
  merged: 'merged',
}

export function stateBadge(state: MergeRequest['state']): Html {
  return html`<span class="badge ${STATE_TONES[state]}">${state === 'opened' ? 'open' : state}</span>`
}
