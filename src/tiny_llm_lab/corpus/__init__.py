"""The text that the embedded model learns: stories, answers, and chats of both."""

from tiny_llm_lab.corpus.documents import Corpus, Document

__all__ = ["Corpus", "Document"]
