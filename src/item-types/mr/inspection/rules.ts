/**
 * Every rule of the inspection: its code, which never changes, what it refuses and why, the sentence that a caller reads, how to
 * mend a submission, and the keys of the configuration that change it. Findings are made from this table and from nothing
 * else, and `docs/inspection.md` is its other reading.
 */
import type { Finding } from '../../../lib/finding.ts'

export interface Rule {
  readonly chapter: keyof typeof CHAPTERS
  readonly refuses: string
  /** With a {name} for each fact. */
  readonly sentence: string
  readonly mend: string
  /** Names of keys, as the guide for operators spells them. */
  readonly keys: readonly string[]
}

export const CHAPTERS = {
  project: 'The project',
  branches: 'Branches',
  paths: 'Paths',
  actions: 'File actions and sizes',
  content: 'Content of files',
  text: 'Title, description and commit message',
  labels: 'Labels',
  target: 'What the target branch holds',
} as const

const MAX_ACTIONS = 'mr.limits.max_actions'
const MAX_FILE_BYTES = 'mr.limits.max_file_bytes'
const MAX_TOTAL_BYTES = 'mr.limits.max_total_bytes'
const projectKey = <Name extends string>(name: Name) => `mr.projects[].${name}` as const

export const RULES = {
  project_not_configured: {
    chapter: 'project',
    refuses: 'A project that the configuration does not list. The service writes to listed projects only.',
    sentence: 'The service is not set up for this project; check its full path, or ask the operators to add it.',
    mend: 'Send the full path as GitLab shows it; case is ignored.',
    keys: [projectKey('path')],
  },
  branch_name_refused: {
    chapter: 'branches',
    refuses:
      'A source branch whose name Git or GitLab could read as something else: another ref, a commit id, the head of a merge request. The service writes to it with force.',
    sentence: 'The source branch {why}; choose another name.',
    mend: 'Letters, digits and `. _ / -`, beginning with a letter or digit.',
    keys: [],
  },
  source_branch_not_allowed: {
    chapter: 'branches',
    refuses: 'A source branch outside the patterns that the project gives to the service.',
    sentence: 'The source branch must match {patterns}.',
    mend: 'Begin the name as one of the patterns does.',
    keys: [projectKey('source_branches')],
  },
  target_branch_not_allowed: {
    chapter: 'branches',
    refuses: 'A target branch that the project does not list.',
    sentence: 'The target branch must be {branches}.',
    mend: "Name a listed branch, or leave the key out for the project's default branch.",
    keys: [projectKey('target_branches')],
  },
  source_is_target: {
    chapter: 'branches',
    refuses: 'A source branch that is the target, or that Git cannot keep beside it. Case is ignored.',
    sentence: 'The source branch must not be the target branch, nor lie above or below it; choose another name.',
    mend: 'Choose another source branch.',
    keys: [projectKey('target_branches')],
  },
  path_not_canonical: {
    chapter: 'paths',
    refuses:
      'A path in any spelling but its one canonical one. It is never cleaned: GitLab cleans `a/../.gitlab-ci.yml` by rules of its own, so a mended path would be another one there.',
    sentence: 'The path {path} {why}; write it as Git shows it.',
    mend: 'No `.`, `..`, `//`, backslash, colon, percent code, invisible character; no blank at the ends of a name, no dot at its end; Unicode form C.',
    keys: [],
  },
  path_reserved: {
    chapter: 'paths',
    refuses:
      "A name that belongs to Git (`.git`, also in another case or in Windows' short form) or to Windows (`con`, `nul`).",
    sentence: 'The path {path} {why}; choose another name.',
    mend: 'Choose another name.',
    keys: [],
  },
  path_characters: {
    chapter: 'paths',
    refuses: 'Characters beyond plain ASCII. Letters that look alike are different names to Git.',
    sentence:
      'The path {path} has characters that this project does not allow in paths (A-Z a-z 0-9 . _ + @ space / -).',
    mend: 'Use plain letters, digits and `. _ + @ -`.',
    keys: [projectKey('any_characters_in_paths')],
  },
  path_blocked: {
    chapter: 'paths',
    refuses:
      'A path on the block list, a directory that holds one, or a path below one: what decides which code runs with which rights, who has to agree, and what tools of developers execute on their own. Deletions, both ends of moves, and modes count.',
    sentence: 'The path {path} is on the block list; it must be changed by a person.',
    mend: 'Leave the path out and let a person change it.',
    keys: [projectKey('block_paths'), projectKey('unblock_paths')],
  },
  path_dot_directory: {
    chapter: 'paths',
    refuses:
      'A path in a directory at the top of the repository whose name begins with a dot. Tools keep there what they execute, and new ones come faster than a list of them can grow.',
    sentence: 'The path {path} lies in a directory whose name begins with a dot, which this project does not list.',
    mend: 'Leave the path out, or ask the operators to list the directory.',
    keys: [projectKey('dot_directories'), projectKey('unblock_paths')],
  },
  path_not_allowed: {
    chapter: 'paths',
    refuses: 'A path outside the allow list of a project that has one. The block list holds on top.',
    sentence: 'The path {path} matches none of the paths that this project allows.',
    mend: 'Change allowed paths only.',
    keys: [projectKey('allow_paths')],
  },
  too_many_actions: {
    chapter: 'actions',
    refuses: 'More file actions than a person can review.',
    sentence: 'The submission has {count} file actions, at most {limit} are allowed; split it.',
    mend: 'Split the submission.',
    keys: [MAX_ACTIONS],
  },
  path_twice: {
    chapter: 'actions',
    refuses: 'Two actions on one path, where their order would decide what is committed. Case is ignored.',
    sentence: 'The path {path} is named twice (also at {other}); one action a path, ignoring case.',
    mend: 'Send the outcome as one action.',
    keys: [],
  },
  file_is_directory: {
    chapter: 'actions',
    refuses: 'A path that is a file in one action and a directory in another.',
    sentence: 'The path {path} lies in {parent}, which the submission names as a file (at {other}).',
    mend: 'Choose another path for one of them.',
    keys: [],
  },
  file_too_large: {
    chapter: 'actions',
    refuses: 'A file of too many bytes, counted after decoding.',
    sentence: 'The file {path} has {bytes} bytes, at most {limit} are allowed.',
    mend: 'Make the file smaller, or keep it elsewhere.',
    keys: [MAX_FILE_BYTES],
  },
  submission_too_large: {
    chapter: 'actions',
    refuses: 'Files of too many bytes together, counted after decoding.',
    sentence: 'The files have {bytes} bytes together, at most {limit} are allowed; split the submission.',
    mend: 'Split the submission.',
    keys: [MAX_TOTAL_BYTES],
  },
  not_base64: {
    chapter: 'content',
    refuses:
      'Base64 in any but its standard form. Decoders skip what they do not know, each something else, so what was inspected could differ from what is committed.',
    sentence: 'The content is not base64 in its standard form (A-Z a-z 0-9 + /, padded with =).',
    mend: 'Encode the bytes again: standard alphabet, padding, no line breaks.',
    keys: [],
  },
  binary_file: {
    chapter: 'content',
    refuses:
      'A file that holds NUL anywhere or is not UTF-8, whatever `encoding` it was sent in, unless the project lists its format. Then the extension, the first bytes and the size must fit.',
    sentence: 'The file is binary (it holds NUL, or is not UTF-8), and {why}.',
    mend: 'Send text, or ask the operators to list the format for these paths.',
    keys: [projectKey('binary_files')],
  },
  lfs_pointer: {
    chapter: 'content',
    refuses: 'A pointer of Git LFS: the content lies elsewhere and was never inspected.',
    sentence:
      'The file points to a large file that is stored elsewhere and cannot be inspected; send the content itself.',
    mend: 'Send the content itself.',
    keys: [projectKey('lfs_pointers')],
  },
  hidden_characters: {
    chapter: 'content',
    refuses:
      'Characters that show a reader something else than a program reads: controls, bidirectional controls, characters without width, tags, fillers. Also in title, description and commit message. Joiners behind letters and emoji that need them are fine.',
    sentence: 'Line {line} holds characters that cannot be seen or change the order of reading; take them out.',
    mend: 'Take the characters out; in source code, write them as escapes.',
    keys: [projectKey('hidden_characters_in')],
  },
  secret_found: {
    chapter: 'content',
    refuses:
      'What has the form of a secret (the table below), in a file, the title, the description, the commit message, or the name of the source branch. What was found is never shown or logged.',
    sentence: 'Line {line} holds what looks like {what} (rule {rule}); take it out, and revoke it if it is real.',
    mend: 'Take it out and revoke it. A placeholder that is not in the form of the real thing passes.',
    keys: [projectKey('allow_secrets')],
  },
  content_refused: {
    chapter: 'content',
    refuses: "A line that matches one of the project's own patterns.",
    sentence: 'Line {line} is refused by the rule {rule} of this project: {message}',
    mend: 'As the message of the rule says.',
    keys: [projectKey('content_rules')],
  },
  inspection_over_budget: {
    chapter: 'content',
    refuses: 'A submission whose content could not be inspected to its end in the time given for it.',
    sentence: 'The content could not be inspected to its end, because {why}; it is refused.',
    mend: 'Split the submission; look for a file that repeats the beginnings of secrets very often.',
    keys: ['mr.limits.inspection_budget'],
  },
  control_characters: {
    chapter: 'text',
    refuses: 'Control characters. A carriage return counts unless a line feed follows.',
    sentence: 'The {field} holds control characters; take them out.',
    mend: 'Take them out; a title has one line.',
    keys: [],
  },
  blank_text: {
    chapter: 'text',
    refuses: 'Text of nothing but blanks.',
    sentence: 'The {field} is blank; write something.',
    mend: 'Say what the change does.',
    keys: [],
  },
  title_too_long: {
    chapter: 'text',
    refuses: 'A title that is longer than GitLab takes once it has been made harmless.',
    sentence: 'The title has {length} characters once it is made harmless, at most {limit} are allowed; shorten it.',
    mend: 'Shorten the title, or take mentions out of it.',
    keys: [],
  },
  skip_ci: {
    chapter: 'text',
    refuses: 'A title or commit message that keeps GitLab from running the pipeline which has to prove the change.',
    sentence: 'The {field} asks to skip the pipeline, which has to prove the change; take that out.',
    mend: 'Take `[skip ci]` and its other spellings out.',
    keys: [],
  },
  draft_never_merges: {
    chapter: 'text',
    refuses: 'The title of a draft together with `auto_merge`: GitLab never merges a draft.',
    sentence: 'A draft is never merged; take the draft mark out or send auto_merge false.',
    mend: 'Do one of the two.',
    keys: [],
  },
  reserved_trailer: {
    chapter: 'text',
    refuses: 'A trailer in the commit message that signs in the name of a person, or that is the mark of the service.',
    sentence:
      'The commit message holds a trailer that only people or the service may set (Signed-off-by, Workqueue-Item, …); take it out.',
    mend: 'Take it out.',
    keys: [],
  },
  mention_refused: {
    chapter: 'text',
    refuses: 'A mention of a person or group, where the project refuses them; elsewhere it is made harmless.',
    sentence: 'The {field} mentions somebody with @, which this project does not allow; take that out.',
    mend: 'Take the `@` out.',
    keys: [projectKey('text.mentions')],
  },
  closing_word_refused: {
    chapter: 'text',
    refuses: 'Words that close an issue on merge, where the project refuses them; elsewhere they are made harmless.',
    sentence: 'The {field} would close an issue, which this project does not allow; write it in other words.',
    mend: 'Write “for #1” or “see #1”.',
    keys: [projectKey('text.closing_words')],
  },
  html_refused: {
    chapter: 'text',
    refuses:
      'Comments in HTML, which readers do not see but other programs do, and images, which tell who reads; where the project refuses them. Elsewhere they are shown as text.',
    sentence: 'The {field} holds a comment in HTML or an image, which this project does not allow; take it out.',
    mend: 'Take it out, or link to the image.',
    keys: [projectKey('text.html')],
  },
  label_not_allowed: {
    chapter: 'labels',
    refuses:
      'A label that the project does not list; where it lists none, a scoped one (`a::b`), because it takes the place of another that a person may have set.',
    sentence: 'The label {why}.',
    mend: 'Leave the label out.',
    keys: [projectKey('allow_labels')],
  },
  not_a_file: {
    chapter: 'target',
    refuses:
      'A path at which, or on the way to which, the target holds a directory, a symbolic link or a submodule. GitLab would replace a directory, and write to where a link leads.',
    sentence: 'The path {path} is {kind} in the target branch, which the service does not touch.',
    mend: 'Name files, one by one.',
    keys: [],
  },
  file_missing: {
    chapter: 'target',
    refuses: 'An update, a move, a deletion or a change of mode of a file that the target does not hold.',
    sentence: 'The file {path} does not exist in the target branch; correct the path, or use upsert to create it.',
    mend: 'Correct the path. With `upsert` it need not exist.',
    keys: [],
  },
  file_exists: {
    chapter: 'target',
    refuses:
      'A creation, or a move, to where the target holds another file. One that is the same already is no conflict.',
    sentence: 'The file {path} exists already with other content; use upsert if it may be replaced.',
    mend: 'Use `upsert` if it may be replaced.',
    keys: [],
  },
  source_branch_protected: {
    chapter: 'target',
    refuses: 'A source branch that is protected in GitLab, by its name or a pattern, or is the default branch.',
    sentence: 'The branch {branch} is protected; choose another source branch.',
    mend: 'Choose another source branch.',
    keys: [],
  },
} as const satisfies Readonly<Record<string, Rule>>

export type FindingCode = keyof typeof RULES

/** A finding of the inspection: its code is one of the table. */
export interface InspectionFinding extends Finding {
  readonly code: FindingCode
}

type SlotsOf<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}` ? Name | SlotsOf<Rest> : never
type FactsOf<Code extends FindingCode> = Readonly<Record<SlotsOf<(typeof RULES)[Code]['sentence']>, string | number>>

/** The finding with its sentence filled in. `path` is a JSON pointer into the submission. */
export function finding<Code extends FindingCode>(
  code: Code,
  path: string,
  ...[facts]: keyof FactsOf<Code> extends never ? [] : [FactsOf<Code>]
): InspectionFinding {
  const known: Readonly<Record<string, string | number>> = facts ?? {}
  // Once through, so that nothing in a fact is taken for a slot.
  const message = RULES[code].sentence.replace(/\{(\w+)\}/g, (slot, name: string) => String(known[name] ?? slot))
  return { code, path, message }
}
