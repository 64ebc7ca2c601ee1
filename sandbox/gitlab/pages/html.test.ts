import { expect, test } from 'vitest'
import { html } from './html.ts'

test('escapes every text, also inside attributes', () => {
  const evil = `"><script>alert('x')</script>&`
  expect(html`<a title="${evil}">${evil}</a>`.html).toBe(
    '<a title="&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;">' +
      '&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;</a>',
  )
})

test('nests markup, joins lists, and leaves out what is nothing', () => {
  const items = ['a', 'b'].map((item) => html`<li>${item}</li>`)
  expect(html`<ul>${items}${null}${undefined}${false}${0}</ul>`.html).toBe('<ul><li>a</li><li>b</li>0</ul>')
})
