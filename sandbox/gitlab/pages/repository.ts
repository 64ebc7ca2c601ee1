/** The pages of a project, its branches, trees, files, commits and comparisons, all read from the bare repository. */
import type { SandboxContext } from '../context.ts'
import {
  branchHead,
  type Commit,
  listBranches,
  listCommits,
  listTree,
  mergeBase,
  readCommit,
  readFile,
  resolveCommit,
  type TreeEntry,
} from '../git/repository.ts'
import { isProtected } from '../protection.ts'
import type { Project } from '../state.ts'
import { pipelineTable } from './ci.ts'
import { diffSection } from './diff.ts'
import { type Html, html } from './html.ts'
import { branchLink, commitLink, empty, link, type Page, section, time } from './layout.ts'
import { mergeRequestsOf, mergeRequestTable } from './merge-request.ts'

const SHOWN = 10
const MAX_BLOB = 400_000
const MODES: Readonly<Record<string, string>> = {
  '100755': 'executable',
  '120000': 'symbolic link',
  '160000': 'submodule',
}

export async function projectPage(context: SandboxContext, project: Project): Promise<Page> {
  const git = context.git(project)
  const branches = await listBranches(git)
  const head = await branchHead(git, project.defaultBranch)
  const commits = head === null ? [] : await listCommits(git, head, { limit: SHOWN })
  const files = head === null ? [] : ((await listTree(git, head)) ?? [])
  const pipelines = context.state.pipelines.filter((row) => row.projectId === project.id).toReversed()
  const mergeRequests = mergeRequestsOf(context, project).slice(0, SHOWN)
  const url = `${context.externalUrl}${link(project)}.git`
  const body = html`<h1>${project.pathWithNamespace}</h1>
<p class="lead"><span>project ${project.id}</span><span>·</span><span>clone with <code>git clone ${url}</code></span></p>
${section('Merge requests', mergeRequestTable(context, project, mergeRequests), more(project, 'merge_requests'))}
${section('Pipelines', pipelineTable(project, pipelines.slice(0, SHOWN / 2)), more(project, 'pipelines'))}
${section(`Files on ${project.defaultBranch}`, fileTable(project, project.defaultBranch, files))}
${section('Commits', commitTable(project, commits))}
${section('Branches', branches.length === 0 ? empty('No branches.') : branchTable(project, branches))}`
  return { title: project.pathWithNamespace, body }
}

/** A directory or file of a branch, or of a commit; null when there is none. */
export async function filesPage(context: SandboxContext, project: Project, rest: string): Promise<Page | null> {
  const git = context.git(project)
  const place = await splitRef(context, project, rest)
  if (place === null) return null
  const { ref, sha, path } = place
  const trail = [[project.pathWithNamespace, link(project)] as const, [ref, link(project, 'tree', ref)] as const]
  const title = path === '' ? ref : path
  const heading = html`<h1>${title}</h1><p class="lead"><span>at ${branchLink(project, ref)},
${commitLink(project, sha)}</span></p>`
  const entries = await listTree(git, sha, path)
  if (entries !== null) {
    const body = html`${heading}${section('Files', fileTable(project, ref, entries))}`
    return { title, body, trail }
  }
  const content = await readFile(git, sha, path)
  return content && { title, body: html`${heading}${section('Content', blob(content))}`, trail }
}

export async function commitPage(context: SandboxContext, project: Project, sha: string): Promise<Page | null> {
  const git = context.git(project)
  const commit = /^[0-9a-f]{7,40}$/.test(sha) ? await readCommit(git, sha) : null
  if (commit === null) return null
  const pipelines = context.state.pipelines.filter((row) => row.projectId === project.id && row.sha === commit.sha)
  const parents = commit.parents.map((parent) => html` ${commitLink(project, parent)}`)
  const body = html`<h1>${commit.title}</h1><p class="lead"><span><code>${commit.sha}</code> by ${commit.author.name},
${time(commit.committer.date)}${parents.length > 0 && html`, after${parents}`}</span></p>
${section('Message', html`<div class="body text">${commit.message.trimEnd()}</div>`)}
${pipelines.length > 0 && section('Pipelines', pipelineTable(project, pipelines))}
${await diffSection(git, commit.parents[0] ?? null, commit.sha)}`
  return { title: commit.title, body, trail: [[project.pathWithNamespace, link(project)]] }
}

export async function comparePage(context: SandboxContext, project: Project, range: string): Promise<Page | null> {
  const git = context.git(project)
  const [, from = '', dots = '', to = ''] = /^(.+?)(\.{2,3})(.+)$/.exec(range) ?? []
  const [before, after] = [await resolveCommit(git, from), await resolveCommit(git, to)]
  if (before === null || after === null) return null
  const base = dots === '..' ? before : await mergeBase(git, before, after)
  const commits = await listCommits(git, `${before}..${after}`, { limit: 100 })
  const body = html`<h1>${from} ${dots} ${to}</h1>${section('Commits', commitTable(project, commits))}
${await diffSection(git, base, after)}`
  return { title: range, body, trail: [[project.pathWithNamespace, link(project)]] }
}

export async function branchesPage(context: SandboxContext, project: Project): Promise<Page> {
  const branches = await listBranches(context.git(project))
  const body = html`<h1>Branches</h1>${section(project.pathWithNamespace, branchTable(project, branches))}`
  return { title: 'Branches', body, trail: [[project.pathWithNamespace, link(project)]] }
}

/** A branch's name can hold slashes, so the longest branch that the address starts with is meant. */
async function splitRef(context: SandboxContext, project: Project, rest: string) {
  const git = context.git(project)
  const branches = (await listBranches(git)).toSorted((a, b) => b.name.length - a.name.length)
  const branch = branches.find(({ name }) => rest === name || rest.startsWith(`${name}/`))
  if (branch !== undefined) return { ref: branch.name, sha: branch.sha, path: rest.slice(branch.name.length + 1) }
  const [ref = '', ...path] = rest.split('/')
  const sha = await resolveCommit(git, ref)
  return sha === null ? null : { ref, sha, path: path.join('/') }
}

function more(project: Project, page: string): Html {
  return html`<a href="${link(project, page)}">all</a>`
}

function branchTable(project: Project, branches: readonly { readonly name: string; readonly sha: string }[]): Html {
  return html`<table><tbody>${branches.map(
    ({ name, sha }) => html`<tr><td class="name">${branchLink(project, name)}
${name === project.defaultBranch && html`<span class="label">default</span>`}
${isProtected(project, name) && html`<span class="label">protected</span>`}</td>
<td class="end">${commitLink(project, sha)}</td></tr>`,
  )}</tbody></table>`
}

function fileTable(project: Project, ref: string, entries: readonly TreeEntry[]): Html {
  if (entries.length === 0) return empty('No files.')
  return html`<table><tbody>${entries
    .toSorted((a, b) => Number(b.type === 'tree') - Number(a.type === 'tree'))
    .map((entry) => {
      const name = entry.path.split('/').at(-1) ?? ''
      const kind = entry.type === 'tree' ? 'tree' : 'blob'
      return html`<tr><td class="name"><a href="${link(project, kind, ref, entry.path)}">${name}${kind === 'tree' && '/'}</a></td>
<td class="end soft small">${MODES[entry.mode]}</td></tr>`
    })}</tbody></table>`
}

function commitTable(project: Project, commits: readonly Commit[]): Html {
  if (commits.length === 0) return empty('No commits.')
  return html`<table><tbody>${commits.map(
    (commit) => html`<tr><td>${commitLink(project, commit.sha)}</td><td class="name">${commit.title}</td>
<td class="soft">${commit.author.name}</td><td class="end soft">${time(commit.committer.date)}</td></tr>`,
  )}</tbody></table>`
}

function blob(content: Buffer): Html {
  if (content.includes(0)) return empty(`A binary file of ${content.length} bytes.`)
  if (content.length > MAX_BLOB) return empty(`A text of ${content.length} bytes, too large to be shown.`)
  return html`<pre class="blob">${content.toString('utf8')}</pre>`
}
