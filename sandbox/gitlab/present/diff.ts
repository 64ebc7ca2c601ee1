/** One changed file as JSON, in the form that compare, commit diffs and merge request diffs share. */
import type { FileDiff } from '../git/diff.ts'

export function presentDiff(diff: FileDiff) {
  return {
    diff: diff.patch,
    collapsed: false,
    too_large: false,
    new_path: diff.newPath,
    old_path: diff.oldPath,
    a_mode: diff.oldMode.replace(/^000000$/, '0'),
    b_mode: diff.newMode.replace(/^000000$/, '0'),
    new_file: diff.newFile,
    renamed_file: diff.renamedFile,
    deleted_file: diff.deletedFile,
    generated_file: null,
  }
}
