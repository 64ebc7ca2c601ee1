/**
 * Offset pages as GitLab does them: `page`, `per_page` (20, at most 100), the `X-*` headers and `Link`. Totals are left
 * out above 10,000 rows, and for commit lists, whose length GitLab never counts.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { rawParams } from './params.ts'

const MAX_COUNTED = 10_000

export interface Page {
  readonly page: number
  readonly perPage: number
  /** How many rows come before this page. */
  readonly offset: number
}

function positive(value: unknown, fallback: number): number {
  const number = Number(value)
  return Number.isInteger(number) && number > 0 ? number : fallback
}

export function readPage(request: FastifyRequest): Page {
  const params = rawParams(request)
  const page = positive(params['page'], 1)
  const perPage = Math.min(positive(params['per_page'], 20), 100)
  return { page, perPage, offset: (page - 1) * perPage }
}

function linkTo(request: FastifyRequest, externalUrl: string, page: Page, number: number): string {
  const url = new URL(request.url, externalUrl)
  url.searchParams.set('page', String(number))
  url.searchParams.set('per_page', String(page.perPage))
  return url.href
}

/** Sets the page headers of an answer; `total` is null where GitLab does not count, `more` then says if a page follows. */
export function setPageHeaders(
  request: FastifyRequest,
  reply: FastifyReply,
  externalUrl: string,
  page: Page,
  total: number | null,
  more: boolean,
): void {
  const counted = total !== null && total <= MAX_COUNTED
  const pages = total === null ? 0 : Math.max(1, Math.ceil(total / page.perPage))
  const link = (rel: string, number: number) => `<${linkTo(request, externalUrl, page, number)}>; rel="${rel}"`
  const links = [
    ...(page.page > 1 ? [link('prev', page.page - 1)] : []),
    ...(more ? [link('next', page.page + 1)] : []),
    link('first', 1),
    ...(counted ? [link('last', pages)] : []),
  ]
  void reply.headers({
    link: links.join(', '),
    'x-page': String(page.page),
    'x-per-page': String(page.perPage),
    'x-next-page': more ? String(page.page + 1) : '',
    'x-prev-page': page.page > 1 ? String(page.page - 1) : '',
    ...(counted ? { 'x-total': String(total), 'x-total-pages': String(pages) } : {}),
  })
}

/** The requested page of `rows`, with its headers set on the answer. */
export function paginate<Row>(
  request: FastifyRequest,
  reply: FastifyReply,
  externalUrl: string,
  rows: readonly Row[],
): readonly Row[] {
  const page = readPage(request)
  const shown = rows.slice(page.offset, page.offset + page.perPage)
  setPageHeaders(request, reply, externalUrl, page, rows.length, page.offset + shown.length < rows.length)
  return shown
}
