/** The entry of a thread that looks into the content of files. */
import { answerQuestions } from '../../../lib/thread-pool.ts'
import { judgeContent } from './content-rules.ts'

answerQuestions(judgeContent)
