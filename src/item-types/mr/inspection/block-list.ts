/**
 * Paths that nobody may change through the service unless a project lifts an entry by its exact spelling: what decides
 * which code runs with which rights, who has to agree, and what tools of developers execute on their own. Matched with
 * case folded and dotfiles on.
 */
export const DEFAULT_BLOCK_LIST = [
  '**/.gitlab-ci*.yml',
  '**/.gitlab-ci*.yaml',
  '.gitlab/**',
  '**/CODEOWNERS',
  '.gitmodules',
  '**/.gitattributes',
  '.mailmap',
  '.github/**',
  // Pipelines-as-Code runs it from the source branch: a merge request would choose its own pipeline.
  '.tekton/**',
  '**/renovate.json*',
  '**/.renovaterc*',
  '.pre-commit-config.yaml',
  '.husky/**',
  '.githooks/**',
  '**/.npmrc',
  '**/.yarnrc*',
  '.devcontainer/**',
  '.vscode/**',
  '.idea/**',
  '**/AGENTS.md',
  '**/CLAUDE.md',
  '**/GEMINI.md',
  '.agents/**',
  '.claude/**',
  '.cursor/**',
] as const satisfies readonly string[]
