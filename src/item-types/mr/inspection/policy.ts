/** What the configuration allows for one project, as the inspection reads it; the configuration's schema fills it. */

export interface ProjectPolicy {
  /** Full path, in the spelling that identities use. */
  readonly path: string
  /** Exact names; absent: the project's default branch only, which is checked when the service writes. */
  readonly target_branches?: readonly string[] | undefined
  /** Glob patterns. */
  readonly source_branches: readonly string[]
  /** Exclusive when set: a path must match one of them, and pass the block list as well. */
  readonly allow_paths?: readonly string[] | undefined
  /** On top of the default block list. */
  readonly block_paths: readonly string[]
  /** Entries of the default block list that do not hold here, spelt exactly as there. */
  readonly unblock_paths: readonly string[]
  /** Paths beyond plain ASCII letters, digits and `._+@ -`. */
  readonly any_characters_in_paths: boolean
  /** Glob patterns of paths whose files may be binary. */
  readonly binary_paths: readonly string[]
  readonly lfs_pointers: boolean
  /** Glob patterns of paths whose files may hold invisible characters. */
  readonly hidden_characters_in: readonly string[]
  /** Glob patterns of labels; absent: every label that is not scoped. */
  readonly allow_labels?: readonly string[] | undefined
  /** Paths that take the agreement of a named person. */
  readonly review?: { readonly paths: readonly string[] } | undefined
}

export interface Limits {
  readonly max_actions: number
  /** Bytes of one file, decoded. */
  readonly max_file_bytes: number
  /** Bytes of all files, decoded. */
  readonly max_total_bytes: number
}

export interface InspectionPolicy {
  readonly projects: readonly ProjectPolicy[]
  readonly limits: Limits
}
