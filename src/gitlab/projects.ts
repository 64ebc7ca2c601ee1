/** Projects, users and groups, read only. */
import { GroupMembers, Projects, Users } from '@gitbeaker/rest'
import { type Connection, orNull, readAnswer } from './connection.ts'
import type { GitLab } from './port.ts'
import { memberSchema, ownUserSchema, projectSchema, usersSchema } from './schema.ts'

export function projectCalls(
  connection: Connection,
): Pick<GitLab, 'getProject' | 'getOwnUser' | 'getUserId' | 'isGroupMember'> {
  return {
    async getProject(project, call) {
      const answer = connection(Projects, call).show(project)
      return orNull(answer.then((body) => readAnswer(projectSchema, body, 'the question for a project')))
    },

    async getOwnUser(call) {
      return readAnswer(ownUserSchema, await connection(Users, call).showCurrentUser(), 'the question for its own user')
    },

    async getUserId(username, call) {
      const answer = await connection(Users, call).all({ username })
      const users = readAnswer(usersSchema, answer, 'the question for a user')
      // GitLab finds user names whatever their case.
      return users.find((user) => user.username.toLowerCase() === username.toLowerCase())?.id ?? null
    },

    async isGroupMember(group, userId, call) {
      const answer = connection(GroupMembers, call).show(group, userId, { includeInherited: true })
      const member = await orNull(answer.then((body) => readAnswer(memberSchema, body, 'the question for a member')))
      return member !== null && member.id === userId && (member.state ?? 'active') === 'active'
    },
  }
}
