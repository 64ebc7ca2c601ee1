/** Explaining tokens, for the command line. */
export { type Explanation, explainToken } from '../auth/explain.ts'
