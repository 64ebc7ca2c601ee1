import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { readEvent } from './read-event.ts'
import { readMessageBody } from './sqs-message.ts'

const NOON = new Date('2026-12-01T12:00:00Z')
const BODY = { object_kind: 'push', project_id: 7 }
const envelope = (message: string) =>
  JSON.stringify({ Type: 'Notification', TopicArn: 'arn:aws:sns:eu-west-1:1:t', MessageId: 'm', Message: message })

describe('a message of the queue of events', () => {
  test('is the body itself, or an envelope of SNS around it', () => {
    expect(readMessageBody(JSON.stringify(BODY))).toEqual({ kind: 'body', body: BODY })
    expect(readMessageBody(envelope(JSON.stringify(BODY)))).toEqual({ kind: 'body', body: BODY })
  })

  test.each(['', '{', '[]', '"text"', 'null', envelope('{'), envelope('hello'), envelope('[1]')])(
    'cannot be read when it is %j',
    (text) => {
      expect(readMessageBody(text)).toMatchObject({ kind: 'unreadable' })
    },
  )

  test.each([
    ['an answer to a subscription', { Type: 'SubscriptionConfirmation', TopicArn: 'a', Message: 'You have chosen …' }],
    ['another object of a cluster', { apiVersion: 'tekton.dev/v1', kind: 'TaskRun' }],
    ['a PipelineRun of somebody else', { apiVersion: 'example.com/v1', kind: 'PipelineRun' }],
    ['nothing', {}],
  ])('may be no event: %s', (_title, body) => {
    const reading = readMessageBody(JSON.stringify(body))
    expect(reading.kind === 'body' && readEvent(reading.body, null, NOON)).toBeNull()
  })

  test('holds the PipelineRun that Tekton wraps in events of its own', () => {
    const run = { apiVersion: 'tekton.dev/v1', kind: 'PipelineRun', status: { startTime: '2026-03-02T11:20:16Z' } }
    const event = { eventType: 'pipeline_run', eventAt: new Date('2026-03-02T11:20:16Z'), body: run, sourceId: 'm' }
    expect(readEvent({ pipelineRun: run }, 'm', NOON)).toEqual(event)
    expect(readEvent(run, 'm', NOON)).toEqual(event)
  })
})

const SAMPLES = join(import.meta.dirname, '../../../shared/gitlab-events')

describe.skipIf(!existsSync(SAMPLES))('the sample events', () => {
  const files = existsSync(SAMPLES) ? readdirSync(SAMPLES).filter((name) => name.endsWith('.json')) : []
  const eventIn = (text: string) => {
    const reading = readMessageBody(text)
    return reading.kind === 'body' ? readEvent(reading.body, 'm', NOON) : null
  }

  test.each(files)('%s is the same event in the envelope and without it', (name) => {
    const plain = eventIn(readFileSync(join(SAMPLES, name), 'utf8'))
    expect(plain).not.toBeNull()
    expect(eventIn(readFileSync(join(SAMPLES, 'sns', name), 'utf8'))).toEqual(plain)
  })

  test.each(['envelope', 'raw'])('an answer of SQS with %s delivery holds events', (delivery) => {
    const answer = JSON.parse(readFileSync(join(SAMPLES, `sns/sqs_receive_message_${delivery}.json`), 'utf8'))
    const { Messages } = z.object({ Messages: z.array(z.object({ Body: z.string() })) }).parse(answer)
    expect(Messages.map(({ Body }) => eventIn(Body)?.eventType)).toEqual(['merge_request'])
  })
})
