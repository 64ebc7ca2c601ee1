/** Projects and users, read only. */
import { Projects, Users } from '@gitbeaker/rest'
import { type Connection, orNull, readAnswer } from './connection.ts'
import type { GitLab } from './port.ts'
import { ownUserSchema, projectSchema, usersSchema } from './schema.ts'

export function projectCalls(connection: Connection): Pick<GitLab, 'getProject' | 'getOwnCommitEmail' | 'getUserId'> {
  return {
    async getProject(project, call) {
      const answer = connection(Projects, call).show(project)
      return orNull(answer.then((body) => readAnswer(projectSchema, body, 'the question for a project')))
    },

    async getOwnCommitEmail(call) {
      return readAnswer(ownUserSchema, await connection(Users, call).showCurrentUser(), 'the question for its own user')
    },

    async getUserId(username, call) {
      const answer = await connection(Users, call).all({ username })
      const users = readAnswer(usersSchema, answer, 'the question for a user')
      // GitLab finds user names whatever their case.
      return users.find((user) => user.username.toLowerCase() === username.toLowerCase())?.id ?? null
    },
  }
}
