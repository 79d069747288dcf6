"""A conversation, whose earlier turns are part of the prompt."""

from tiny_llm_course.catalogue import say
from tiny_llm_course.errors import CourseError
from tiny_llm_course.inference.engine import Engine
from tiny_llm_course.inference.reply import Reply, reply


class Conversation:
    """Ask in turns. The oldest turns are dropped when the context is full.

    Args:
        engine: The engine that answers.

    Raises:
        CourseError: The checkpoint has no chat template.
    """

    def __init__(self, engine: Engine) -> None:
        if not engine.checkpoint.tokenizer.has_chat_template:
            raise CourseError(say("commands.talking.no_template"))
        self._engine = engine
        self._messages: list[dict[str, str]] = []
        self.num_forgotten = 0

    def ask(self, question: str) -> Reply:
        """Answer `question`, given the turns before it.

        An answer that Ctrl-C has interrupted is kept as far as it went.

        Raises:
            CourseError: The question alone is longer than the model's context.
            SolutionError: The solution does not run.
        """
        self._messages.append({"role": "user", "content": question})
        try:
            answer = reply(self._engine, self._prompt())
        except CourseError:
            self._messages.pop()
            raise
        self._messages.append({"role": "assistant", "content": answer.text})
        return answer

    def _prompt(self) -> str:
        """Render the latest turns that leave a third of the context for the answer."""
        checkpoint = self._engine.checkpoint
        answer_room = min(self._engine.max_tokens, checkpoint.context // 3)
        while True:
            prompt = checkpoint.chat_prompt(self._messages)
            num_tokens = len(checkpoint.tokenizer.encode(prompt))
            fits = num_tokens + answer_room <= checkpoint.context
            if fits or len(self._messages) == 1:
                return prompt
            del self._messages[:2]
            self.num_forgotten += 1
