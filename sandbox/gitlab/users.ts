/** Makes users and their tokens. Tokens are kept as hashes only. */
import { hashToken } from './auth.ts'
import type { SandboxContext } from './context.ts'
import type { User } from './state.ts'

export interface NewUser {
  readonly username: string
  readonly name?: string
  readonly bot?: boolean
  readonly admin?: boolean
  readonly email?: string
  readonly token?: string
}

/** Throws when the name is taken. */
export function createUser(context: SandboxContext, given: NewUser): User {
  if (context.findUserByName(given.username)) throw new Error(`user ${given.username} exists already`)
  const user: User = {
    id: context.nextId(),
    username: given.username,
    name: given.name ?? given.username,
    bot: given.bot ?? false,
    admin: given.admin ?? false,
    email: given.email ?? `${given.username}@sandbox.invalid`,
    createdAt: context.timestamp(),
  }
  context.state.users.push(user)
  if (given.token !== undefined) addToken(context, user, given.token)
  context.save()
  return user
}

export function addToken(context: SandboxContext, user: User, token: string): void {
  context.state.tokens.push({ sha256: hashToken(token), userId: user.id })
  context.save()
}
