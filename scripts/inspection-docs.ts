/**
 * `node scripts/inspection-docs.ts` writes docs/inspection.md from the rules of the inspection themselves. A test compares the two,
 * so the page cannot say anything else than the code does.
 */
import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { BINARY_FORMATS } from '../src/item-types/mr/inspection/binary-formats.ts'
import { DEFAULT_BLOCK_LIST } from '../src/item-types/mr/inspection/block-list.ts'
import { CHAPTERS, RULES, type Rule } from '../src/item-types/mr/inspection/rules.ts'
import { SECRET_RULES } from '../src/item-types/mr/inspection/secret-rules.ts'

export const INSPECTION_DOCS = fileURLToPath(new URL('../docs/inspection.md', import.meta.url))

export function renderInspectionDocs(): string {
  const rules: readonly (readonly [string, Rule])[] = Object.entries(RULES)
  const chapters = Object.entries(CHAPTERS).flatMap(([chapter, title]) => [
    `## ${title}`,
    ...(INTRODUCTIONS[chapter] ?? []),
    ...rules.filter(([, rule]) => rule.chapter === chapter).map(([code, rule]) => renderRule(code, rule)),
  ])
  return `${[INTRODUCTION, ...chapters, BLOCK_LIST, FORMATS, SECRETS].join('\n\n')}\n`
}

const INTRODUCTION = `# The inspection

Before the service writes anything, it inspects what was submitted: at the door, and again right before the commit, because the
configuration may have changed in between. \`wq inspect\` and \`POST /api/v1/inspect\` do the same without submitting. What is refused
is answered with all findings at once. Each has a code that never changes, a JSON pointer to the place in the submission, and a
sentence. Whatever cannot be inspected is refused.

This page is made from the rules themselves by \`scripts/inspection-docs.ts\`. Words in braces stand for what is found. The keys are
explained in [the guide for operators](operations.md). The last chapter is about what the target branch holds, which is looked at in a
dry run and before the service writes; an item that meets one of its findings ends as failed.`

const INTRODUCTIONS: Readonly<Record<string, readonly string[]>> = {
  content: [
    `Content is looked at in threads of their own, for as long as \`mr.limits.inspection_budget\` says, so that no submission can hold up the
service. Patterns are for RE2, whose time is linear in the text.`,
  ],
  text: [
    `All text that leaves the service is made harmless, whether it was submitted or is the service's own. A backslash stands before each
slash that begins a line, so that GitLab runs no quick action. Behind what begins a mention, a closing word, a comment or an image
stands a character without width (U+200B), so that it looks the same and does nothing; \`mr.projects[].text\` says for each kind
whether that is done (\`neutralise\`), whether such a submission is refused (\`refuse\`), or neither (\`allow\`).`,
  ],
}

const BLOCK_LIST = `## The default block list

Case is ignored, and so are the compatible forms of letters. A project lifts an entry with \`mr.projects[].unblock_paths\`, by its exact
spelling, and adds its own with \`mr.projects[].block_paths\`.

${DEFAULT_BLOCK_LIST.map((pattern) => `- \`${pattern}\``).join('\n')}`

const FORMATS = `## Binary formats

What \`mr.projects[].binary_files\` may list, beside \`any\`, which asks for neither extension nor first bytes.

| format | extensions |
| --- | --- |
${Object.entries(BINARY_FORMATS)
  .map(([format, { extensions }]) => `| \`${format}\` | ${extensions.map((extension) => `.${extension}`).join(', ')} |`)
  .join('\n')}`

const SECRETS = `## Rules for secrets

The rules are our own, written from the formats that vendors publish. They find what is leaked by accident; who wants to hide a
secret can. A project says with \`mr.projects[].allow_secrets\` where a rule is mistaken.

| rule | finds |
| --- | --- |
${SECRET_RULES.map(({ id, what }) => `| \`${id}\` | ${what} |`).join('\n')}`

function renderRule(code: string, { refuses, sentence, mend, keys }: Rule): string {
  const changedBy = keys.length === 0 ? 'Nothing.' : `${keys.map((key) => `\`${key}\``).join(', ')}.`
  return [`### \`${code}\``, refuses, `> ${sentence}`, `- To mend it: ${mend}\n- Changed by: ${changedBy}`].join('\n\n')
}

if (import.meta.main) await writeFile(INSPECTION_DOCS, renderInspectionDocs())
