import { expect, test } from 'vitest'
import { plainTrace } from './trace.ts'

test('takes colours, section marks and overwritten text out of a log', () => {
  const trace =
    'section_start:1700000000:step_script\r\u001b[0K\u001b[0K\u001b[36;1mExecuting\u001b[0;m\n' +
    'progress 10%\rprogress 100%\nwindows line\r\n' +
    'section_end:1700000001:step_script\r\u001b[0K\u001b[32;1mJob succeeded\u001b[0;m\n'
  expect(plainTrace(trace)).toBe('Executing\nprogress 100%\nwindows line\nJob succeeded\n')
})
