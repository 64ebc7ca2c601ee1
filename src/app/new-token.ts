/** Makes a caller's token, for the command line, which knows the service only through this room. */
export { newToken } from '../auth/token.ts'
