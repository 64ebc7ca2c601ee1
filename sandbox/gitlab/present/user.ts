/** Users as JSON: the short form that hangs on other records, and the longer one of `GET /user`. */
import type { SandboxContext } from '../context.ts'
import type { User } from '../state.ts'

export function presentUser(context: SandboxContext, user: User) {
  return {
    id: user.id,
    username: user.username,
    public_email: '',
    name: user.name,
    state: 'active',
    locked: false,
    avatar_url: `${context.externalUrl}/uploads/-/system/user/avatar/${user.id}/avatar.png`,
    web_url: `${context.externalUrl}/${user.username}`,
  }
}

export function presentUserId(context: SandboxContext, id: number | null) {
  const user = id === null ? null : context.findUser(id)
  return user ? presentUser(context, user) : null
}

/** `GET /users/:id` and the items of `GET /users` carry a little more than the short form. */
export function presentUserProfile(context: SandboxContext, user: User) {
  return {
    ...presentUser(context, user),
    created_at: user.createdAt,
    bio: '',
    location: '',
    organization: '',
    job_title: '',
    pronouns: null,
    bot: user.bot,
    work_information: null,
    followers: 0,
    following: 0,
    is_followed: false,
    local_time: null,
  }
}

/** `GET /user`: the token's own user. */
export function presentCurrentUser(context: SandboxContext, user: User) {
  return {
    ...presentUserProfile(context, user),
    email: user.email,
    commit_email: user.email,
    confirmed_at: user.createdAt,
    last_sign_in_at: null,
    current_sign_in_at: null,
    last_activity_on: context.timestamp().slice(0, 10),
    theme_id: 3,
    color_scheme_id: 1,
    projects_limit: 100_000,
    identities: [],
    can_create_group: true,
    can_create_project: true,
    two_factor_enabled: false,
    external: false,
    private_profile: false,
    namespace_id: user.id,
    ...(user.admin ? { is_admin: true } : {}),
  }
}
